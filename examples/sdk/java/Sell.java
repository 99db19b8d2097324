// An NFT is listed, withdrawn, listed again and bought, with the Hedera SDK as it is: nothing of it is configured but
// the node's address. Beside `make run`, in the clone, with the SDK's jar (examples/sdk/README.md says where it is):
//
//   . instance/sandbox.env
//   java -cp sdk.jar examples/sdk/java/Sell.java
//
// MARKET says where the service is, NODE where its node listens.

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.hedera.hashgraph.sdk.*;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

public class Sell {
  static final String MARKET = environment("MARKET");
  static final String NODE = environment("NODE");
  static final String TOKEN = environment("TOKEN");
  // The account that sells for others in the sandbox: MARKETPLACE_ACCOUNT_ID.
  static final AccountId MARKETPLACE = AccountId.fromString("0.0.9001");

  static String environment(String name) {
    var value = System.getenv(name);
    if (value == null) {
      System.err.println(name + " is not set. In the clone, while make run serves: . instance/sandbox.env");
      System.exit(1);
    }
    return value;
  }

  static final HttpClient http = HttpClient.newHttpClient();
  static final Gson gson = new Gson();

  // Ask the service for something; with a body, by POST.
  static JsonObject call(String path, Object body) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(MARKET + path))
        .header("Authorization", "Bearer " + TOKEN)
        .header("Content-Type", "application/json");
    if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(gson.toJson(body)));
    var response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    var answer = gson.fromJson(response.body(), JsonObject.class);
    if (response.statusCode() / 100 != 2) throw new Exception(path + ": " + answer.get("message"));
    return answer;
  }

  // Who has a key: in the sandbox the first one that signs for an account becomes its key.
  static class Account {
    final AccountId id = new AccountId(ThreadLocalRandom.current().nextLong(100_000, 1_000_000));
    final PrivateKey key;
    final Client client;

    Account(PrivateKey key) throws Exception {
      this.key = key;
      client = Client.forNetwork(Map.of(NODE, AccountId.fromString("0.0.3"))).setOperator(id, key);
    }

    // What the service has prepared: read, and signed by whom it is for. (Here bytes without a signature are taken as
    // not frozen; freeze() keeps what is in them.)
    Transaction<?> signPrepared(String path, Object body) throws Exception {
      var bytes = Base64.getDecoder().decode(call(path, body).get("byteArray").getAsString());
      return Transaction.fromBytes(bytes).freeze().sign(key);
    }

    // A purchase is signed and handed in: the marketplace signs last, and submits it.
    void buy(Map<String, Object> body) throws Exception {
      var signed = signPrepared("/v1/buy/extwallet", body).toBytes();
      body.put("signedTransaction", Base64.getEncoder().encodeToString(signed));
      System.out.println("Bought: " + call("/v1/comingsoon", body).get("result").getAsString());
    }

    void execute(String what, Transaction<?> transaction) throws Exception {
      tell(what, transaction.execute(client));
    }

    private void tell(String what, TransactionResponse response) throws Exception {
      var receipt = response.setValidateStatus(false).getReceipt(client);
      if (receipt.status != Status.SUCCESS)
        throw new Exception(what + ": " + receipt.status + ". Is " + NODE + " the node of " + MARKET + "?");
      var record = response.getRecord(client);
      System.out.println(what + ": " + receipt.status + ", " + record.transactionFee + " of fees, "
          + response.transactionId);
    }
  }

  static Map<String, Object> nft(AccountId accountId, long serialNo, Map<String, Object> more) {
    var body = new java.util.HashMap<String, Object>(more);
    body.putAll(Map.of("accountId", accountId.toString(), "tokenId", "0.0.7100", "serialNo", serialNo));
    return body;
  }

  // Nobody reports anything: the service sees by itself what happened on the ledger.
  static JsonObject waitFor(boolean isForSale, long serialNo) throws Exception {
    for (int tries = 0; tries < 100; tries++) {
      var stored = call("/v1/nft/0.0.7100/" + serialNo, null);
      if (stored.get("isForSale").getAsBoolean() == isForSale) return stored;
      Thread.sleep(200);
    }
    throw new Exception("The order book does not follow: is " + NODE + " the node of " + MARKET + "?");
  }

  public static void main(String[] arguments) throws Exception {
    var serialNo = ThreadLocalRandom.current().nextLong(1, 1_000_000_000);
    var nftId = new NftId(TokenId.fromString("0.0.7100"), serialNo);
    var seller = new Account(PrivateKey.generateED25519());
    var buyer = new Account(PrivateKey.generateECDSA());

    call("/v1/add", nft(seller.id, serialNo, Map.of()));
    seller.execute("Listed",
        seller.signPrepared("/v1/list/extwallet", nft(seller.id, serialNo, Map.of("listingPrice", 250))));
    System.out.println("In the order book for " + waitFor(true, serialNo).get("listingPrice") + " HBAR");

    seller.execute("Withdrawn", new AccountAllowanceDeleteTransaction().deleteAllTokenNftAllowances(nftId, seller.id));
    waitFor(false, serialNo);
    System.out.println("Not in the order book any more");

    // A listing of one's own making: whom it lets spend the NFT, and its memo, are all there is to it.
    seller.execute("Listed again", new AccountAllowanceApproveTransaction()
        .approveTokenNftAllowance(nftId, seller.id, MARKETPLACE)
        .setTransactionMemo("Listing NFT with 0.0.7100 and Serial Number " + serialNo + " for 199 HBAR on my desk"));
    System.out.println("In the order book for " + waitFor(true, serialNo).get("listingPrice") + " HBAR");

    buyer.buy(nft(buyer.id, serialNo, Map.of()));
    waitFor(false, serialNo);

    var owner = new TokenNftInfoQuery().setNftId(nftId).execute(buyer.client).get(0).accountId;
    System.out.println("It belongs to " + (owner.equals(buyer.id) ? "the buyer" : owner) + " now");
    // The networks answer no balance query any more: the mirror node does.
    for (var who : Map.of("Seller", seller, "Buyer", buyer).entrySet()) {
      var account = call("/sandbox/api/v1/accounts/" + who.getValue().id + "?transactions=false", null);
      var balance = account.getAsJsonObject("balance").get("balance").getAsLong();
      System.out.println(who.getKey() + " has " + Hbar.fromTinybars(balance));
    }
    seller.client.close();
    buyer.client.close();
  }
}
