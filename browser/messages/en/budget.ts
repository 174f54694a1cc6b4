/** Texts of budgets: what is used, and what a change means. */
export const budgetTexts = {
  title: "Budget",
  used: "Used in this period",
  tokens: "Tokens",
  usd: "USD",
  edit: "Change the budget",
  loading: "Loading the budget",
  failed: "What is used could not be read.",
  stale: "What is used could not be read again; what you see is from before.",
  retry: "Try again",
  since: "Counted since {instant}, {zone}.",
  changeMeans: "What this means",
  changeReset: "The budget begins anew: what was used before does not count any more.",
  changePeriod: "Another period counts from its own begin: what was used in the one before does not count any more.",
  changeNoCap: "Without a cap nothing is refused for the budget. What is used is still counted.",
  changeZero_tokens: "A cap of 0 tokens refuses every request from the next one on.",
  changeZero_usd: "A cap of 0 USD refuses every request from the next one on.",
  changeBelow_tokens:
    "{used} tokens are used or reserved, which is not below {cap}: requests are refused from the next one on, until the budget is raised or begins anew.",
  changeBelow_usd:
    "{used} are used or reserved, which is not below {cap}: requests are refused from the next one on, until the budget is raised or begins anew.",
  changeLeft_tokens: "{left} tokens would be left.",
  changeLeft_usd: "{left} would be left.",
} as const;
