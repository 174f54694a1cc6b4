/** Texts of budgets: what is used, and what a change means. */
export const budgetTexts = {
  title: "Budget",
  used: "Used in this period",
  raise: "Raise the budget",
  tokens: "Tokens",
  usd: "USD",
  since: "Counted since {instant}, {zone}.",
  changeMeans: "Effect of this change",
  changeReset: "The budget resets: earlier usage no longer counts.",
  changePeriod: "Usage counts from the start of the new period: earlier usage no longer counts.",
  changeNoCap: "Without a limit, no request is refused because of the budget. Usage is still counted.",
  changeZero_tokens: "A limit of 0 tokens refuses every new request.",
  changeZero_usd: "A limit of 0 USD refuses every new request.",
  changeBelow_tokens:
    "{used} tokens are already used or reserved, and the limit is {cap}. New requests are refused until the budget is raised or resets.",
  changeBelow_usd:
    "{used} is already used or reserved, and the limit is {cap}. New requests are refused until the budget is raised or resets.",
  changeLeft_tokens: "{left} tokens would remain.",
  changeLeft_usd: "{left} would remain.",
} as const;
