/**
 * The registry of transforms: every change of a request on its way upstream, and of its answer, in the order in which they
 * apply. A new transform is one new file and one line here.
 */
import { Transforms } from "./domain/upstream/transform.ts";
import { usageEvent } from "./domain/upstream/usage-event.ts";

export const TRANSFORMS = new Transforms([usageEvent]);
