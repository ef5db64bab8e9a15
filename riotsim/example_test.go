package riotsim_test

import (
	"fmt"
	"net/http"

	"riftrelay/riotsim"
)

func ExampleNew() {
	edge, err := riotsim.New(riotsim.Config{
		Keys:         map[string]string{"RGAPI-example-0001": "3:600"},
		MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := http.Client{Transport: edge.RoundTripper()}
	for range 5 {
		req, _ := http.NewRequest("GET", "https://euw1.api.riotgames.com/lol/status/v4/platform-data", nil)
		req.Header.Set("X-Riot-Token", "RGAPI-example-0001")
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.StatusCode, resp.Header.Get("X-App-Rate-Limit-Count"))
		resp.Body.Close()
	}
	report := edge.Report()
	app, _ := report.Scope(riotsim.Application, "RGAPI-example-0001", "euw1", "")
	fmt.Println("accepted", report.Accepted, "of at most", report.Most, "own fault", report.Violations, "peak", app.Windows[0].Peak)
	// Output:
	// 200 1:600
	// 200 2:600
	// 200 3:600
	// 429 4:600
	// 429 5:600
	// accepted 3 of at most 3 own fault 2 peak 5
}
