import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { TenantFilter } from "../../forms/filters/found-filters.tsx";

interface TenantOfUserProps {
  readonly tenantId: string | null;
  readonly onChoose: (tenantId: string | null) => void;
  readonly error?: string | undefined;
}

/** Chooses the tenant of a user by its name. */
export function TenantOfUser({ tenantId, onChoose, error }: TenantOfUserProps) {
  const name = useTenantName(tenantId);
  return (
    <TenantFilter
      chosen={tenantId === null ? undefined : (name ?? tenantId)}
      onChoose={(chosen) => onChoose(chosen ?? null)}
      error={error}
    />
  );
}

/** How a tenant is called; undefined while that is not known. */
export function useTenantName(id: string | null): string | undefined {
  const { data } = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: id ?? "" } } }, { enabled: id !== null }),
  );
  return data?.id === id ? data.name : undefined;
}
