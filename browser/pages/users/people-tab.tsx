import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { isWide } from "../../../shared/fields/roles.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { commonText } from "../../messages/common.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatText } from "../../ui/format.ts";
import { Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { type ListedUser, shownRole, UserBadge } from "./user-words.tsx";

const text = texts("users", usersTexts);
const route = getRouteApi("/signed-in/admin/users");
const UserPanel = lazy(async () => ({ default: (await import("./user-panel.tsx")).UserPanel }));
const EVERY_MS = 20_000;
const STATUSES = ["pending", "active", "disabled"] as const;

/** People who have signed in, the newest first; who waits for approval stands out. */
export function PeopleTab() {
  const { user_id: openId, sort, q, status } = route.useSearch();
  const filters = { ...(q === undefined ? {} : { q }), ...(status === undefined ? {} : { status }) };
  const navigate = useNavigate({ from: "/users" });
  const users = useList<ListedUser>("/api/v1/users", filters, { everyMs: EVERY_MS, readsAll: sort !== undefined });
  const filter = (change: Parameters<typeof changedSearch<typeof filters>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (id: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { user_id: id }), replace: openId !== undefined });
  const view = useListView({ rows: users.data, columns: useColumns(open, users.data) });
  return (
    <Stack>
      <Row>
        <SearchField
          label={text("filter")}
          value={filters.q ?? ""}
          onSearch={(q) => filter({ q: q === "" ? undefined : q })}
        />
        <SelectField
          label={text("status")}
          value={filters.status ?? ""}
          onChange={({ target }) => filter({ status: STATUSES.find((status) => status === target.value) })}
          choices={[
            { value: "", label: commonText("all") },
            ...STATUSES.map((value) => ({ value, label: choiceLabel(value) })),
          ]}
        />
      </Row>
      <ListTable
        state={users}
        view={view}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/users" query={filters} />
          </>
        }
        title={text("people")}
        label={text("list")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => open(id)}
        openKey={openId}
        onEnd={users.onEnd}
        empty={
          Object.keys(filters).length > 0 ? (
            <Empty
              title={text("noMatch")}
              action={
                <Button onClick={() => filter({ q: undefined, status: undefined })}>
                  {commonText("clearFilters")}
                </Button>
              }
            >
              {text("noMatchText")}
            </Empty>
          ) : (
            <Empty title={text("empty")}>{text("emptyText")}</Empty>
          )
        }
      />
      <Suspense fallback={null}>
        {openId !== undefined && <UserPanel key={openId} userId={openId} onClose={() => open(undefined)} />}
      </Suspense>
    </Stack>
  );
}

/** The first tenant, and how many more there are; all of them for who sees every tenant. */
function TenantsOf({ user }: { readonly user: ListedUser }) {
  const { tenant_id, tenant_name } = user;
  const more = user.more_tenants.length + user.group_tenants.length;
  if (isWide(shownRole(user))) return text("allTenants");
  if (tenant_id === null) return more === 0 ? formatText(null) : text("tenantsCount", { count: more });
  return (
    <>
      <Link to="/tenants/$tenantId" params={{ tenantId: tenant_id }}>
        <bdi>{tenant_name}</bdi>
      </Link>
      {more > 0 && ` ${text("moreTenants", { count: more })}`}
    </>
  );
}

function useColumns(
  open: (id: string) => void,
  users: readonly ListedUser[] | undefined,
): readonly ListColumn<ListedUser>[] {
  const { id: ownId } = useCurrentUser();
  const columns = useMemo(
    (): readonly ListColumn<ListedUser>[] => [
      {
        id: "email",
        head: text("email"),
        isWide: true,
        sortBy: ({ email }) => email,
        cell: ({ id, email }) => (
          <bdi title={email}>
            {email}
            {id === ownId && ` (${text("self")})`}
          </bdi>
        ),
      },
      {
        id: "name",
        head: text("name"),
        isWide: true,
        sortBy: ({ name }) => (name === "" ? null : name),
        cell: ({ name }) => <bdi title={name}>{formatText(name)}</bdi>,
      },
      {
        id: "provider",
        head: text("provider"),
        sortBy: ({ provider }) => provider,
        cell: ({ provider }) => <bdi>{provider}</bdi>,
      },
      {
        id: "status",
        head: text("status"),
        sortBy: ({ status }) => status,
        cell: ({ status }) => <UserBadge status={status} />,
      },
      { id: "role", head: text("role"), sortBy: ({ role }) => role, cell: (user) => choiceLabel(shownRole(user)) },
      {
        id: "tenant",
        head: text("tenant"),
        isWide: true,
        sortBy: ({ tenant_name }) => tenant_name,
        cell: (user) => <TenantsOf user={user} />,
      },
      {
        id: "last",
        head: text("lastSignIn"),
        sortBy: ({ last_login_at }) => last_login_at,
        cell: ({ last_login_at }) => <Age at={last_login_at} />,
      },
      {
        id: "first",
        head: text("firstSignIn"),
        isExtra: true,
        sortBy: ({ created_at }) => created_at,
        cell: ({ created_at }) => <Age at={created_at} />,
      },
    ],
    [ownId],
  );
  if (users?.some(({ status }) => status === "pending") !== true) return columns;
  return [
    ...columns,
    {
      id: "approve",
      head: text("access"),
      cell: ({ id, email, status }) =>
        status === "pending" ? (
          <Button writes tone="quiet" aria-label={text("approveOf", { email })} onClick={() => open(id)}>
            {text("approve")}
          </Button>
        ) : null,
    },
  ];
}
