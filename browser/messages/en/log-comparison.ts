/** Texts of two requests side by side. */
export const comparisonTexts = {
  compareDiffers: "{count, plural, one {# difference} other {# differences}}",
  compareOnly: "Only differences",
  compareSame: "Both requests have the same values.",
  compareFact: "Field",
  compareFirst: "Request A",
  compareSecond: "Request B",
  compareChange: "B against A",
  compare: "Compare requests",
} as const;
