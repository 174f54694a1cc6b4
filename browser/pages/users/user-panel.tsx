/** One user beside the list: approval, access, and everything that was done to the account. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { updateUserSchema } from "../../../shared/schema/user.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import { fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { commonText } from "../../messages/common.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { formatText } from "../../ui/format.ts";
import { Facts, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { ApproveForm } from "./approve-form.tsx";
import { TenantOfUser, useTenantName } from "./tenant-of-user.tsx";
import { type ChosenTenant, TenantsField } from "./tenants-field.tsx";
import { accessWarnings } from "./user-warnings.ts";
import { BREAK_GLASS, shownRole, USER_READS, type User, UserBadge } from "./user-words.tsx";

const text = texts("users", usersTexts);
const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));
const SessionList = lazy(async () => ({
  default: (await import("../../forms/sessions/session-list.tsx")).SessionList,
}));
const EVERY_MS = 20_000;
const ADMINS_MAX = 1000;
const SPECS = [...fieldSpecs(["status", "role"], USER_FIELDS), valueSpec("tenant_id"), valueSpec("more_tenants")];

export function UserPanel({ userId, onClose }: { readonly userId: string; readonly onClose: () => void }) {
  const user = useQuery(read("/api/v1/users/{id}", { params: { path: { id: userId } } }, { everyMs: EVERY_MS }));
  const shown = user.data?.id === userId.toLowerCase() ? user.data : undefined;
  const isGone = user.error !== null && (user.error.status === 404 || user.error.status === 400);
  return (
    <Dialog isOpen onClose={onClose} place="side" title={<bdi>{formatText(shown?.email)}</bdi>}>
      {isGone ? (
        <Empty title={text("gone")}>{commonText("gone")}</Empty>
      ) : (
        <Loaded state={{ ...user, data: shown }}>{(one) => <UserDetails user={one} onClose={onClose} />}</Loaded>
      )}
    </Dialog>
  );
}

function UserDetails({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { email, name, provider, status } = user;
  const tenantName = useTenantName(user.tenant_id);
  const { zone } = useZone();
  const own = useCurrentUser();
  const isChangeable = provider !== BREAK_GLASS;
  return (
    <Stack>
      {!isChangeable && <Notice>{text("breakGlass")}</Notice>}
      {isChangeable && status === "pending" && !own.isReadOnly && (
        <Panel title={text("approve")}>
          <ApproveForm user={user} />
        </Panel>
      )}
      <Facts
        facts={[
          [text("email"), <bdi key="email">{email}</bdi>],
          [text("name"), <bdi key="name">{formatText(name)}</bdi>],
          [text("provider"), isChangeable ? <bdi key="provider">{provider}</bdi> : text("password")],
          [text("status"), <UserBadge key="status" status={status} />],
          [text("role"), choiceLabel(shownRole(user))],
          [text("tenant"), <bdi key="tenant">{formatText(tenantName)}</bdi>],
          ...(user.group_role === null && user.group_tenants.length === 0
            ? []
            : [[text("fromGroups"), <FromGroups key="groups" user={user} />] as const]),
          [text("lastSignIn"), <Age key="last" at={user.last_login_at} />],
          [text("firstSignIn"), <Age key="first" at={user.created_at} />],
        ]}
      />
      {isChangeable && status !== "pending" && <EditUser user={user} />}
      {isChangeable && <DeleteUser user={user} onDeleted={onClose} />}
      <Panel title={text("sessions")} isFlush>
        <Suspense fallback={null}>
          <SessionList userId={user.id} ownId={own.id === user.id ? own.session_id : null} />
        </Suspense>
      </Panel>
      <Suspense fallback={null}>
        <History of={{ entity_type: "user", entity_id: user.id }} zone={zone} />
      </Suspense>
    </Stack>
  );
}

/** What the groups of the provider gave at the last sign-in. */
function FromGroups({ user: { group_role, group_tenants } }: { readonly user: User }) {
  return (
    <ul>
      {group_role !== null && <li>{choiceLabel(group_role)}</li>}
      {group_tenants.map(({ tenant_id, role }) => (
        <li key={tenant_id}>
          {choiceLabel(role)}: <TenantName id={tenant_id} />
        </li>
      ))}
    </ul>
  );
}

function TenantName({ id }: { readonly id: string }) {
  return <bdi>{useTenantName(id) ?? id}</bdi>;
}

function EditUser({ user }: { readonly user: User }) {
  const { id, email } = user;
  const { zone } = useZone();
  const { id: ownId } = useCurrentUser();
  const queries = useQueryClient();
  const otherAdmins = useOtherAdmins(user);
  const init = { params: { path: { id } } };
  return (
    <Panel title={text("access")}>
      <RecordForm
        what={text("access")}
        name={email}
        specs={SPECS}
        schema={updateUserSchema}
        record={user}
        zone={zone}
        sends="changed"
        send={async (body, header) =>
          await api.PATCH("/api/v1/users/{id}", {
            params: { path: { id }, header },
            body: body as Records["UpdateUser"],
          })
        }
        readNow={async () => await queries.fetchQuery({ ...read("/api/v1/users/{id}", init), staleTime: 0 })}
        touches={USER_READS}
        controls={{
          tenant_id: ({ typed, onType, error }) => (
            <TenantOfUser tenantId={typeof typed === "string" ? typed : null} onChoose={onType} error={error} />
          ),
          more_tenants: ({ typed, onType, error }) => (
            <TenantsField
              label={text("furtherTenants")}
              chosen={(Array.isArray(typed) ? typed : []) as readonly ChosenTenant[]}
              onChange={onType}
              hasRoles
              error={error}
            />
          ),
        }}
        note={(values) =>
          accessWarnings({ before: user, after: { ...user, ...values }, isSelf: id === ownId, otherAdmins }).map(
            (warning) => (
              <Notice key={warning} tone="warn">
                {text(`warn_${warning}`)}
              </Notice>
            ),
          )
        }
      />
    </Panel>
  );
}

/** Active admins besides this user and the break-glass admin; null: not known. */
function useOtherAdmins({ id, role, status }: User): number | null {
  const query = { status: "active", limit: String(ADMINS_MAX) } as const;
  const isAdmin = role === "admin" && status === "active";
  const { data } = useQuery(read("/api/v1/users", { params: { query } }, { enabled: isAdmin }));
  if (data === undefined || data.length >= ADMINS_MAX) return null;
  return data.filter((one) => one.role === "admin" && one.provider !== BREAK_GLASS && one.id !== id).length;
}

function DeleteUser({ user: { id, email }, onDeleted }: { readonly user: User; readonly onDeleted: () => void }) {
  const isSelf = useCurrentUser().id === id;
  return (
    <Row isEnd>
      <DeleteButton
        label={commonText("delete")}
        title={text("deleteTitle", { email })}
        send={async () => await api.DELETE("/api/v1/users/{id}", { params: { path: { id } } })}
        touches={USER_READS}
        ends="/api/v1/users/{id}"
        done={text("deleted", { email })}
        failed={text("deleteFailed", { email })}
        onDeleted={onDeleted}
      >
        <p>{text("deleteText")}</p>
        {isSelf && <p>{text("deleteSelf")}</p>}
      </DeleteButton>
    </Row>
  );
}
