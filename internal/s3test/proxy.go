package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Fault is what a proxy does to a request; the zero value lets it pass.
type Fault struct {
	Status int           // answer this instead of asking the server
	Cut    bool          // cut the connection in the middle of the answer
	CutIn  bool          // cut it before the request has arrived
	Wrong  bool          // change a byte of the answer
	Summed bool          // and keep the checksum that the store has
	Delay  time.Duration // before it is answered
	Hang   bool          // never answer
	Stick  bool          // stop in the middle of the answer and keep the connection
	Lost   bool          // carry it out, but cut the connection before the answer
}

// Proxy is an endpoint before a server.
type Proxy struct {
	Endpoint string

	mu    sync.Mutex
	fault func(r *http.Request) Fault
	count int
}

// NewProxy runs a proxy before a server for the test.
func NewProxy(t *testing.T, endpoint string) *Proxy {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{}
	stop := make(chan struct{})
	// The signature covers the host, so it stays as the client wrote it.
	rp := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(r *http.Response) error {
			f, _ := r.Request.Context().Value(faultKey{}).(Fault)
			if f.Cut || f.Wrong || f.Stick {
				r.Body = &spoiled{r.Body, f, r.ContentLength / 2, r.Request.Context().Done(), stop}
				if f.Wrong && !f.Summed { // as a store that has the wrong bytes itself would answer
					for h := range r.Header {
						if len(h) > 15 && h[:15] == "X-Amz-Checksum-" {
							r.Header.Del(h)
						}
					}
				}
			}
			return nil
		},
		ErrorLog: nil,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := p.next(r)
		if f.Delay > 0 {
			time.Sleep(f.Delay)
		}
		switch {
		case f.Hang:
			select {
			case <-stop:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		case f.CutIn:
			panic(http.ErrAbortHandler)
		case f.Status > 0:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(f.Status)
			return
		case f.Lost:
			rp.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		rp.ServeHTTP(w, r.WithContext(withFault(r.Context(), f)))
	}))
	s.Config.ErrorLog = quiet()
	t.Cleanup(func() {
		close(stop)
		s.CloseClientConnections()
		s.Close()
	})
	p.Endpoint = s.URL
	return p
}

// Break sets what happens to requests from now on; nil lets all pass.
func (p *Proxy) Break(fault func(r *http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.count = fault, 0
}

// Hit is how many requests had a fault since Break.
func (p *Proxy) Hit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *Proxy) next(r *http.Request) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		return Fault{}
	}
	f := p.fault(r)
	if f != (Fault{}) {
		p.count++
	}
	return f
}

// spoiled is the body of an answer that is cut, changed or stopped in the middle.
type spoiled struct {
	io.ReadCloser
	f          Fault
	left       int64
	gone, stop <-chan struct{} // the client has, the test does
}

func (s *spoiled) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	at := s.left
	s.left -= int64(n)
	if at < 0 || s.left >= 0 {
		return n, err
	}
	if s.f.Stick {
		select {
		case <-s.gone:
		case <-s.stop:
		}
	}
	if s.f.Cut || s.f.Stick {
		return int(at), io.ErrUnexpectedEOF
	}
	p[at] ^= 0x20
	return n, err
}
