/** One key beside a list: its state, what it has used, and everything that can be done with it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { isConsoleKey } from "../../../shared/access/console-key.ts";
import type { Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, formatInstant, instantOf } from "../../time/instants.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatText, formatUsd } from "../../ui/format.ts";
import { Facts, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { BudgetState, useBudgetUsage } from "../budget/budget-state.tsx";
import { ChangeMeaning } from "../budget/change-meaning.tsx";
import { undoBudget } from "../budget/undo-budget.ts";
import { ModelNames } from "../record/model-names.tsx";
import { RecordForm } from "../record/record-form.tsx";
import { sumCostUsd } from "../usage/row-cost.ts";
import { KeyActions } from "./key-actions.tsx";
import { KeyBadge } from "./key-badge.tsx";
import { EDIT_KEY } from "./key-specs.ts";
import { KEY_READS, updateKey } from "./key-writes.ts";

const text = texts("keys", keysTexts);
/** Loaded when a key is open, like the panel itself: who may not read the audit log never does. */
const History = lazy(async () => ({ default: (await import("../history/history.tsx")).History }));
const EVERY_MS = 20_000;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;

export function KeyPanel({ keyId, onClose }: { readonly keyId: string; readonly onClose: () => void }) {
  const init = { params: { path: { id: keyId } } };
  const key = useQuery(read("/api/v1/keys/{id}", init, { everyMs: EVERY_MS }));
  const shown = key.data?.id === keyId.toLowerCase() ? key.data : undefined;
  const isGone = key.error !== null && (key.error.status === 404 || key.error.status === 400);
  const name = shown === undefined ? formatText(null) : nameOf(shown);
  return (
    <Dialog isOpen onClose={onClose} place="side" title={<bdi>{name}</bdi>}>
      {isGone ? (
        <Empty title={text("gone")}>{text("goneText")}</Empty>
      ) : (
        <Loaded state={{ ...key, data: shown }}>
          {(apiKey) => <KeyDetails key={apiKey.id} apiKey={apiKey} onClose={onClose} />}
        </Loaded>
      )}
    </Dialog>
  );
}

/** What people call a key. */
function nameOf({ name, key_prefix }: Pick<Records["ApiKey"], "name" | "key_prefix">): string {
  return name === "" ? key_prefix : name;
}

function KeyDetails({ apiKey, onClose }: { readonly apiKey: Records["ApiKey"]; readonly onClose: () => void }) {
  const { id, tenant_id } = apiKey;
  const isAdmin = useCurrentUser().role === "admin";
  const queries = useQueryClient();
  const nowMs = useNow(DAY_MS);
  const [sinceMs] = useState(nowMs - (WEEK_DAYS - 1) * DAY_MS);
  const tenant = useQuery(read("/api/v1/tenants/{id}", { params: { path: { id: tenant_id } } }));
  const use = useQuery(
    read(
      "/api/v1/keys/{id}/usage",
      { params: { path: { id }, query: { since_ms: String(sinceMs) } } },
      { everyMs: EVERY_MS },
    ),
  );
  const usage = useBudgetUsage("key", id);
  const zone = tenant.data?.timezone ?? "UTC";
  const name = nameOf(apiKey);
  const isOfConsole = isConsoleKey(id);
  const isUsed = use.data !== undefined && use.data.last_used_ms > 0;
  return (
    <Stack>
      <KeyActions
        apiKey={apiKey}
        name={name}
        zone={zone}
        tenantModels={tenant.data?.allowed_models ?? null}
        onDeleted={onClose}
      />
      {isOfConsole && <Notice>{text("ofConsole")}</Notice>}
      <OldSecret until={apiKey.previous_secret_until} zone={zone} />
      <Facts
        facts={[
          [text("state"), <KeyBadge key="state" apiKey={{ ...apiKey, tenant_status: tenant.data?.status }} />],
          [text("prefix"), <code key="prefix">{apiKey.key_prefix}…</code>],
          [
            text("tenant"),
            <Link key="tenant" to="/tenants/$tenantId" params={{ tenantId: tenant_id }}>
              <bdi>{tenant.data?.name ?? tenant_id}</bdi>
            </Link>,
          ],
          [text("created"), <Age key="created" at={apiKey.created_at} />],
          [
            text("lastUsed"),
            use.data === undefined ? (
              formatText(null)
            ) : isUsed ? (
              <span key="used">
                <Age at={use.data.last_used_ms} />{" "}
                {text("lastModel", { model: use.data.last_model, status: use.data.last_status_code })}
              </span>
            ) : (
              text("noUse")
            ),
          ],
          [text("requests7d"), `${formatCount(use.data?.requests)} (${formatUsd(sumCostUsd(use.data))})`],
        ]}
      />
      <Row>
        <Link {...(pageTarget("/logs", { key_id: id }) as LinkProps)}>{text("reads")}</Link>
      </Row>
      <Panel title={text("budgetTitle")}>
        <BudgetState usage={usage} zone={zone} />
      </Panel>
      {!isOfConsole && (
        <Panel title={text("edit")}>
          <RecordForm
            what={text("details")}
            name={name}
            specs={EDIT_KEY.specs}
            schema={EDIT_KEY.schema}
            record={apiKey}
            zone={zone}
            sends="changed"
            undoOf={undoBudget}
            send={async (body, header) => await updateKey(id, body, header)}
            readNow={async () =>
              await queries.fetchQuery({ ...read("/api/v1/keys/{id}", { params: { path: { id } } }), staleTime: 0 })
            }
            touches={KEY_READS}
            controls={{ allowed_models: (own) => <ModelNames name="allowed_models" {...own} /> }}
            note={(values) => (
              <ChangeMeaning before={apiKey} after={{ ...apiKey, ...values }} usage={usage.data ?? null} />
            )}
          />
        </Panel>
      )}
      <Suspense fallback={null}>
        {isAdmin && <History of={{ entity_type: "api_key", entity_id: id }} zone={zone} />}
      </Suspense>
    </Stack>
  );
}

/** That the secret before a rotation is still admitted. */
function OldSecret({ until, zone }: { readonly until: string | null; readonly zone: string }) {
  const nowMs = useNow(60_000);
  const untilMs = instantOf(until);
  if (untilMs === null || untilMs <= nowMs) return null;
  return (
    <Notice tone="warn">
      {text("oldSecretUntil", { instant: formatInstant(zone, untilMs, "minute"), age: formatAge(nowMs, untilMs) })}
    </Notice>
  );
}
