package process

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
)

// Metric is the sum of a metric's values over all its labels.
func (s *Server) Metric(ctx context.Context, name string) (sum float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.HTTP+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, lines.Err()
}
