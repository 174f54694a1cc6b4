/** Search parameters of the page `fairshare`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

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
  /** Of the queues, and of the models. */
  waiting_sort: LIST_PARAMS.sort,
  waiting_columns: LIST_PARAMS.columns,
  models_sort: LIST_PARAMS.sort,
  models_columns: LIST_PARAMS.columns,
  /** What is open over the page: a queue (`queueId`), or `capacity`. */
  open: textParam(600),
});
