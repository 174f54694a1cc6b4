/** Health of models and endpoints in words. */
export const healthTexts = {
  healthy: "Healthy",
  healthy_text: "The last check or request succeeded.",
  degraded: "Degraded",
  degraded_text: "Some of its requests or checks fail. It still gets requests.",
  unhealthy: "Down",
  unhealthy_text: "Its checks fail, or no replica serves it. Failed checks in a row: {count}.",
  unknown: "Unknown",
  unknown_text: "Not checked yet, or the check was inconclusive.",
  disabled: "Disabled",
  disabled_text: "It is disabled.",
  maintenance: "In maintenance",
  maintenance_text: "Until {instant}: no checks and no alerts.",
} as const;
