/** The parts of the page that have no form, in one file. */
export { AccessTab } from "./access-tab.tsx";
export { BudgetTab } from "./budget-tab.tsx";
export { KeysTab } from "./keys-tab.tsx";
export { UsageTab } from "./usage-tab.tsx";
