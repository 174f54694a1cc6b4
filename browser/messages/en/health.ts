/** Health of models and endpoints in words. */
export const healthTexts = {
  healthy: "Healthy",
  healthy_text: "The last check found it working.",
  degraded: "Degraded",
  degraded_text: "It answers, but not as it should; requests are still sent to it.",
  unhealthy: "Down",
  unhealthy_text: "{count, plural, one {# check has} other {# checks have}} failed in a row.",
  unknown: "Not known",
  unknown_text: "It was not checked yet, or the check could not tell.",
  disabled: "Not checked",
  disabled_text: "Health checks are switched off, or the model is disabled.",
  maintenance: "In maintenance",
  maintenance_text: "In maintenance until {instant}: no checks and no alerts.",
} as const;
