package plan

import (
	"encoding/json"
	"math"
)

// Quantile is a quantile's constant: Value, and for a DECIMAL the exact Integral/Scaling.
type Quantile struct {
	Value    float64
	Integral int64
	Scaling  int64 // 0 unless the constant is a DECIMAL
}

// Separator is the separator among what DuckDB bound to an aggregate function.
func Separator(data string) (string, bool) {
	var d struct {
		Separator *string `json:"separator"`
	}
	if data == "" || json.Unmarshal([]byte(data), &d) != nil || d.Separator == nil {
		return "", false
	}
	return *d.Separator, true
}

// Quantiles are the constants among what DuckDB bound to an aggregate function.
func Quantiles(data string) []Quantile {
	var d struct {
		Quantiles []json.RawMessage `json:"quantiles"`
	}
	if data == "" || json.Unmarshal([]byte(data), &d) != nil {
		return nil
	}
	var out []Quantile
	for _, raw := range d.Quantiles {
		var number float64
		if json.Unmarshal(raw, &number) == nil {
			out = append(out, Quantile{Value: number})
			continue
		}
		var c struct {
			Type struct {
				ID   string `json:"id"`
				Info struct {
					Scale int `json:"scale"`
				} `json:"type_info"`
			} `json:"type"`
			Value float64 `json:"value"`
		}
		if json.Unmarshal(raw, &c) != nil {
			return nil
		}
		q := Quantile{Value: c.Value}
		if c.Type.ID == "DECIMAL" {
			scaling := math.Pow10(c.Type.Info.Scale)
			q = Quantile{Value: c.Value / scaling, Integral: int64(c.Value), Scaling: int64(scaling)}
		}
		out = append(out, q)
	}
	return out
}
