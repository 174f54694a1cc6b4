import type { StoredState } from "../../../../edge/domain/budget/authority/stored.ts";

/** The storage of an authority that has never been used. */
export const NOTHING_STORED: StoredState = {
  tenant: null,
  keys: [],
  grants: [],
  charged: [],
  untracked: false,
  keysUntracked: false,
};
