// Runs before anything is painted, so that no page flashes in the wrong theme.
try { document.documentElement.dataset.theme = localStorage.getItem("riftrelay-theme") ?? "auto"; } catch { /* no storage: auto */ }
