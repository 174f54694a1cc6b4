/** Texts of the filters that several pages have. */
export const filterTexts = {
  period: "Period",
  periodCustom: "Custom",
  fromDay: "First day",
  toDay: "Last day",
  zone: "Time zone",
  anyName: "Part of the name",
  clear: "Clear",
  nothingFound: "No match.",
  searching: "Searching",
  tenant: "Tenant",
  key: "Key",
  model: "Model",
} as const;
