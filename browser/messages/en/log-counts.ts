/** Texts of the counts of requests over time and by value. */
export const logCountsTexts = {
  chart: "Requests over time",
  chartFailed: "Could not load the counts.",
  chartEmpty: "No requests in this period.",
  chartHint: "Drag over the chart to show a time window.",
  chartKeys: "Arrow keys move, Shift and arrow keys select, Enter shows the window.",
  served: "Succeeded",
  refused: "Refused",
  failed: "Failed",
  left: "Client disconnected",
  legend: "{name} {count}",
  bucketAt:
    "{from} to {to}: {requests, plural, one {# request} other {# requests}}, {refused} refused, {failed} failed",
  selection: "{from} to {to} selected",
  facets: "Counts by value",
  showFacets: "Show counts",
  hideFacets: "Hide counts",
  facetNone: "None",
  facetMore: "More values: use a filter",
  moreValues: "More values",
  fewerValues: "Fewer values",
} as const;
