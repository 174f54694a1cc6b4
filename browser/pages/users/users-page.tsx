import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { read, readPages } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { type User, UserBadge } from "./user-words.tsx";

const text = texts("users", usersTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/users");
const UserPanel = lazy(async () => ({ default: (await import("./user-panel.tsx")).UserPanel }));
const EVERY_MS = 20_000;
const PAGE_ROWS = "200";
const NAMES_MAX = "1000";
const STATUSES = ["pending", "active", "disabled"] as const;

/** People who have signed in, the newest first; who waits for approval stands out. */
export function UsersPage() {
  const { user_id: openId, ...filters } = route.useSearch();
  const navigate = useNavigate({ from: "/users" });
  const users = useInfiniteQuery(
    readPages<User>("/api/v1/users", { ...filters, limit: PAGE_ROWS }, { everyMs: EVERY_MS }),
  );
  const rows = useMemo(() => users.data?.pages.flatMap((page) => page.rows), [users.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = users;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const filter = (change: Parameters<typeof changedSearch<typeof filters>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (id: string | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { user_id: id }), replace: openId !== undefined });
  const columns = useColumns(open);
  return (
    <Stack>
      <PageHead title={pageText("users")} question={pageText("usersQuestion")} />
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
            { value: "", label: text("statusAll") },
            ...STATUSES.map((value) => ({ value, label: choiceLabel(value) })),
          ]}
        />
      </Row>
      <Panel isFlush>
        <Loaded state={{ ...users, data: rows }} texts={STATE_TEXTS}>
          {(shown) => (
            <Table
              label={text("list")}
              columns={columns}
              rows={shown}
              rowKey={({ id }) => id}
              onOpen={({ id }) => open(id)}
              openKey={openId}
              onEnd={onEnd}
              empty={
                Object.keys(filters).length > 0 ? (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => void navigate({ search: {} })}>{text("clear")}</Button>}
                  >
                    {text("noMatchText")}
                  </Empty>
                ) : (
                  <Empty title={text("empty")}>{text("emptyText")}</Empty>
                )
              }
            />
          )}
        </Loaded>
      </Panel>
      <Suspense fallback={null}>
        {openId !== undefined && <UserPanel key={openId} userId={openId} onClose={() => open(undefined)} />}
      </Suspense>
    </Stack>
  );
}

function useColumns(open: (id: string) => void): readonly Column<User>[] {
  const { id: ownId } = useCurrentUser();
  const tenants = useQuery(read("/api/v1/tenants", { params: { query: { limit: NAMES_MAX } } }));
  const names = useMemo(() => new Map(tenants.data?.map(({ id, name }) => [id, name])), [tenants.data]);
  return [
    {
      id: "email",
      head: text("email"),
      isWide: true,
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
      cell: ({ name }) => <bdi title={name}>{name === "" ? text("unknown") : name}</bdi>,
    },
    { id: "provider", head: text("provider"), cell: ({ provider }) => <bdi>{provider}</bdi> },
    { id: "status", head: text("status"), cell: ({ status }) => <UserBadge status={status} /> },
    { id: "role", head: text("role"), cell: ({ role }) => choiceLabel(role) },
    {
      id: "tenant",
      head: text("tenant"),
      isWide: true,
      cell: ({ tenant_id }) =>
        tenant_id === null ? (
          text("unknown")
        ) : (
          <Link to="/tenants/$tenantId" params={{ tenantId: tenant_id }}>
            <bdi>{names.get(tenant_id) ?? tenant_id}</bdi>
          </Link>
        ),
    },
    { id: "last", head: text("lastSignIn"), cell: ({ last_login_at }) => <Age at={last_login_at} /> },
    {
      id: "approve",
      head: text("access"),
      cell: ({ id, email, status }) =>
        status === "pending" ? (
          <Button tone="quiet" aria-label={text("approveOf", { email })} onClick={() => open(id)}>
            {text("approve")}
          </Button>
        ) : null,
    },
  ];
}
