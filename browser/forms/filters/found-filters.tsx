/** One tenant, model or key among any number of them, found by typing a part of its name. */

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { sentence } from "../../data/api-error.ts";
import { read } from "../../data/reads.ts";
import { filterTexts } from "../../messages/en/filters.ts";
import { texts } from "../../messages/texts.ts";
import { SearchSelect } from "../../ui/search-select.tsx";

const text = texts("filters", filterTexts);
const FOUND_MAX = 8;
const searchTexts = { clear: text("clear"), nothing: text("nothingFound"), searching: text("searching") };

interface ChooseProps {
  /** How what is chosen is called; undefined: nothing is. */
  readonly chosen: string | undefined;
  readonly onChoose: (value: string | undefined) => void;
}

/** Why nothing is found; undefined: the search has not failed. */
export function failureOf(error: { readonly message: string; readonly code: string } | null): string | undefined {
  return error === null ? undefined : sentence(error.message);
}

/**
 * What a filter asks for: the first ones as soon as it is open, then those with the typed part. What an earlier text has found
 * is not kept: Enter would choose from it.
 */
function useSearch() {
  const [typed, onType] = useState<string | null>(null);
  const q = useDeferredValue(typed?.trim() ?? "");
  return {
    onType,
    query: { ...(q === "" ? {} : { q }), limit: String(FOUND_MAX) },
    init: { enabled: typed !== null, keepsOld: false },
  };
}

/** For admins, who alone can list tenants. */
export function TenantFilter({ chosen, onChoose, error }: ChooseProps & { readonly error?: string | undefined }) {
  const { onType, query, init } = useSearch();
  const found = useQuery(read("/api/v1/tenants", { params: { query } }, init));
  return (
    <SearchSelect
      label={text("tenant")}
      placeholder={text("anyName")}
      chosen={chosen}
      found={
        found.data?.map(({ id, name, fairshare_group }) => ({ value: id, label: name, note: fairshare_group })) ?? null
      }
      onType={onType}
      onChoose={onChoose}
      error={error ?? failureOf(found.error)}
      texts={searchTexts}
    />
  );
}

/** The tenant by its name, also as long as its id alone is known. */
export function TenantByIdFilter({
  tenantId,
  onChoose,
}: Pick<ChooseProps, "onChoose"> & { readonly tenantId: string | undefined }) {
  const path = { id: tenantId ?? "" };
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path } }, { enabled: tenantId !== undefined, keepsOld: false }),
  );
  return (
    <TenantFilter
      chosen={tenantId === undefined ? undefined : (tenant.data?.name ?? tenantId)}
      onChoose={onChoose}
      error={failureOf(tenant.error)}
    />
  );
}

export function ModelFilter({ chosen, onChoose }: ChooseProps) {
  const { onType, query, init } = useSearch();
  const found = useQuery(read("/api/v1/models", { params: { query } }, init));
  return (
    <SearchSelect
      label={text("model")}
      placeholder={text("anyName")}
      chosen={chosen}
      found={found.data?.map(({ model_name }) => ({ value: model_name, label: model_name })) ?? null}
      onType={onType}
      onChoose={onChoose}
      error={failureOf(found.error)}
      texts={searchTexts}
    />
  );
}

export function KeyFilter({
  keyId,
  tenantId,
  onChoose,
}: {
  readonly keyId: string | undefined;
  /** Only keys of this tenant are found. */
  readonly tenantId: string | undefined;
  readonly onChoose: ChooseProps["onChoose"];
}) {
  const { onType, query, init } = useSearch();
  const ofTenant = tenantId === undefined ? {} : { tenant_id: tenantId };
  const found = useQuery(read("/api/v1/keys", { params: { query: { ...query, ...ofTenant } } }, init));
  const chosen = useQuery(
    read("/api/v1/keys/{id}", { params: { path: { id: keyId ?? "" } } }, { enabled: keyId !== undefined }),
  );
  const nameOf = ({ name, key_prefix }: { readonly name: string; readonly key_prefix: string }): string =>
    name === "" ? key_prefix : name;
  return (
    <SearchSelect
      label={text("key")}
      placeholder={text("anyName")}
      chosen={keyId === undefined ? undefined : chosen.data?.id === keyId ? nameOf(chosen.data) : keyId}
      found={found.data?.map((key) => ({ value: key.id, label: nameOf(key), note: key.key_prefix })) ?? null}
      onType={onType}
      onChoose={onChoose}
      error={failureOf(found.error)}
      texts={searchTexts}
    />
  );
}
