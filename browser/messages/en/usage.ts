/** Texts of what was used in some days. */
export const usageTexts = {
  usage7d: "7 days",
  usage30d: "30 days",
  period: "Period",
  requests: "Requests",
  errors: "Errors",
  cost: "Cost",
  inputTokens: "Input",
  outputTokens: "Output",
  noUsage: "No requests in this time",
  noUsageText: "Usage appears some seconds after a request has ended.",
  usageFailed: "The usage could not be loaded.",
  totalsIn: "Days of {zone}, {first} to {last}",
  tokens: "Tokens",
  cacheHits: "Cache hits",
  byDay: "By day",
  usageChart: "Tokens by day",
} as const;
