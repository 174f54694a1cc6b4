/** Search parameters of the page `fairshare`. */
import { choiceParam, listParams, searchParams, textParam } from "../../data/search-params.ts";

export const fairshareSearch = searchParams({
  /** The cell that is shown; absent: the gateway's own, with the queues of all. */
  cell: textParam(200),
  /** How long the chart looks back; absent: an hour. */
  range: choiceParam(["15m"]),
  /** What the colours of the chart stand for; absent: groups. */
  by: choiceParam(["tenant"]),
  /** The tenant whose queues are listed; absent: those of all. */
  tenant_id: textParam(40),
  /** Text that a queue's tenant, model or group has. */
  q: textParam(200),
  ...listParams("waiting_"),
  ...listParams("models_"),
  ...listParams("groups_"),
  ...listParams("tenants_"),
  /** What is open over the page: a queue (`queueId`), or `capacity`. */
  open: textParam(600),
});
