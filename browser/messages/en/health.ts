/** Health of models and endpoints in words. */
export const healthTexts = {
  healthy: "Healthy",
  healthy_text: "The last check succeeded.",
  degraded: "Degraded",
  degraded_text: "It responds, but with errors. Requests are still sent to it.",
  unhealthy: "Down",
  unhealthy_text: "{count, plural, one {# check has} other {# checks have}} failed in a row.",
  unknown: "Unknown",
  unknown_text: "Not checked yet, or the check was inconclusive.",
  disabled: "Not checked",
  disabled_text: "Health checks are off, or the model is disabled.",
  maintenance: "In maintenance",
  maintenance_text: "In maintenance until {instant}: no checks and no alerts.",
} as const;
