import com.fasterxml.jackson.databind.ObjectMapper;
import gateway.api.ApiKeysApi;
import gateway.api.TenantsApi;
import gateway.client.ApiClient;
import gateway.model.CreateApiKey;
import gateway.model.CreateTenant;
import gateway.model.PatchTenant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;

/** Five calls with the client that openapi-generator has generated. Prints what they showed, as JSON. */
public class Calls {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("GATEWAY_URL"));
    client.setRequestInterceptor(
        request -> request.header("authorization", "Bearer " + System.getenv("GATEWAY_TOKEN")));
    TenantsApi tenants = new TenantsApi(client);
    var tenant = tenants.postTenants(new CreateTenant().name("from-java").budgetCostUsd(0.05), null, null);
    var key = new ApiKeysApi(client).postTenantsIdKeys(tenant.getId(), null, null, new CreateApiKey().name("first"));
    var patch =
        new PatchTenant()
            .weight(70L)
            .activeFrom(OffsetDateTime.parse("0001-01-01T00:00:00Z"))
            .activeUntil(OffsetDateTime.parse("9999-12-31T23:59:59.999Z"));
    tenants.patchTenantsId(tenant.getId(), patch, null, null);
    var read = tenants.getTenantsId(tenant.getId());
    var deleted = tenants.deleteTenantsIdWithHttpInfo(tenant.getId(), null, null);
    var shown =
        Map.of(
            "secret", !key.getSecret().isEmpty(),
            "weight", read.getWeight(),
            "budget_cost_usd", read.getBudgetCostUsd(),
            "active_years", List.of(read.getActiveFrom().getYear(), read.getActiveUntil().getYear()),
            "is_made_now", read.getCreatedAt().getYear() > 2024,
            "is_endless", key.getKey().getExpiresAt() == null,
            "deleted", deleted.getStatusCode());
    System.out.println(new ObjectMapper().writeValueAsString(shown));
  }
}
