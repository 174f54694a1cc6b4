/** The texts that every page needs, ready to be used. */
import { commonTexts } from "./en/common.ts";
import { texts } from "./texts.ts";

export const commonText = texts("common", commonTexts);

/** What stands in place of data that is not there, or is old. */
export const STATE_TEXTS = {
  loading: commonText("loading"),
  failed: commonText("failed"),
  stale: commonText("stale"),
  retry: commonText("retry"),
};
