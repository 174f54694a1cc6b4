/** What each part of a model's page gets. */
import type { Records } from "../../data/api.ts";

export interface ModelTabProps {
  /** As it was read last. */
  readonly model: Records["Model"];
  /** Of the form: the tab that it was opened from. */
  readonly from?: string;
}
