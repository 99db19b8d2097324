// From nothing to a sold NFT of one's own collection, with the Hedera SDK as it is. Beside `make run`, in the clone, with
// the SDK's jar (examples/sdk/README.md says where it is):
//
//   . instance/sandbox.env
//   java -cp sdk.jar examples/sdk/java/Tutorial.java
//
// MARKET says where the service is, NODE where its node listens.

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.hedera.hashgraph.sdk.*;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

public class Tutorial {
  static final String MARKET = environment("MARKET");
  static final String NODE = environment("NODE");
  static final String TOKEN = environment("TOKEN");

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
  static Client client;

  record Account(AccountId id, PrivateKey key) {}

  // Ask the service for something; with a body, by POST. The mirror node is below /sandbox/api/v1.
  static JsonObject call(String path, Object body) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(MARKET + path))
        .header("Authorization", "Bearer " + TOKEN)
        .header("Content-Type", "application/json");
    if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(gson.toJson(body)));
    var response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) throw new Exception(path + ": " + response.body());
    return gson.fromJson(response.body(), JsonObject.class);
  }

  // How many HBAR an account has, as the mirror node tells it.
  static long balance(Account account) throws Exception {
    var shown = call("/sandbox/api/v1/accounts/" + account.id + "?transactions=false", null);
    return shown.getAsJsonObject("balance").get("balance").getAsLong() / 100_000_000;
  }

  static Client clientOf(AccountId id, PrivateKey key) throws Exception {
    return Client.forNetwork(Map.of(NODE, AccountId.fromString("0.0.3"))).setOperator(id, key);
  }

  // Sign with the operator's key and others, submit, and wait for the receipt.
  static <T extends Transaction<T>> TransactionReceipt execute(T transaction, PrivateKey... keys) throws Exception {
    transaction.freezeWith(client);
    for (var key : keys) transaction.sign(key);
    return transaction.execute(client).getReceipt(client);
  }

  static Account createAccount(PrivateKey key, long hbar) throws Exception {
    var creation = new AccountCreateTransaction().setKey(key.getPublicKey()).setInitialBalance(new Hbar(hbar));
    return new Account(execute(creation).accountId, key);
  }

  // Sign what the marketplace has prepared. A purchase is handed in, because the marketplace signs it last; a listing
  // is submitted. (Here bytes without a signature are taken as not frozen; freeze() keeps what is in them.)
  static void complete(String path, Account account, TokenId token, Map<String, Object> more) throws Exception {
    var body = new HashMap<String, Object>(more);
    body.putAll(Map.of("accountId", account.id.toString(), "tokenId", token.toString(), "serialNo", 1));
    var prepared = call(path, body);
    var bytes = Base64.getDecoder().decode(prepared.get("byteArray").getAsString());
    var signed = Transaction.fromBytes(bytes).freeze().sign(account.key);
    if (prepared.getAsJsonObject("metadata").get("returnTransaction").getAsBoolean()) {
      body.put("signedTransaction", Base64.getEncoder().encodeToString(signed.toBytes()));
      call("/v1/comingsoon", body);
      return;
    }
    try (var own = clientOf(account.id, account.key)) {
      signed.execute(own).getReceipt(own);
    }
  }

  static void waitFor(boolean isForSale, TokenId token) throws Exception {
    for (int tries = 0; tries < 100; tries++) {
      if (call("/v1/nft/" + token + "/1", null).get("isForSale").getAsBoolean() == isForSale) return;
      Thread.sleep(200);
    }
    throw new Exception("The order book does not follow: is " + NODE + " the node of " + MARKET + "?");
  }

  public static void main(String[] arguments) throws Exception {
    // In the sandbox an account that nobody has used has 10,000 HBAR, and takes the first key that signs for it.
    var operator = new AccountId(ThreadLocalRandom.current().nextLong(100_000, 1_000_000));
    client = clientOf(operator, PrivateKey.generateED25519());

    var artist = createAccount(PrivateKey.generateED25519(), 100);
    var first = createAccount(PrivateKey.generateECDSA(), 500);
    var buyer = createAccount(PrivateKey.generateED25519(), 500);
    System.out.println("Accounts: " + artist.id + " made it, " + first.id + " buys first, " + buyer.id + " buys last");

    var royalty = new CustomRoyaltyFee()
        .setNumerator(5)
        .setDenominator(100)
        .setFallbackFee(new CustomFixedFee().setHbarAmount(new Hbar(1)))
        .setFeeCollectorAccountId(artist.id);
    var creation = new TokenCreateTransaction()
        .setTokenName("Cats of my own")
        .setTokenSymbol("CAT")
        .setTokenType(TokenType.NON_FUNGIBLE_UNIQUE)
        .setSupplyType(TokenSupplyType.FINITE)
        .setMaxSupply(5)
        .setTreasuryAccountId(artist.id)
        .setAdminKey(artist.key.getPublicKey())
        .setSupplyKey(artist.key.getPublicKey())
        .setCustomFees(List.of(royalty))
        .setMaxTransactionFee(new Hbar(40));
    var token = execute(creation, artist.key).tokenId;
    System.out.println("Collection " + token + ", with a royalty of 5 %");

    var metadata = IntStream.rangeClosed(1, 5)
        .mapToObj(number -> ("ipfs://bafkqacbqfyyc4nzqgayq/" + number + ".json").getBytes()).toList();
    var minted = execute(new TokenMintTransaction().setTokenId(token).setMetadata(metadata), artist.key);
    System.out.println("Minted: " + minted.serials);

    for (var account : List.of(first, buyer))
      execute(new TokenAssociateTransaction().setAccountId(account.id).setTokenIds(List.of(token)), account.key);

    // The treasury owes no royalties.
    var sale = new TransferTransaction()
        .addNftTransfer(new NftId(token, 1), artist.id, first.id)
        .addHbarTransfer(first.id, new Hbar(-100))
        .addHbarTransfer(artist.id, new Hbar(100));
    execute(sale, artist.key, first.key);
    System.out.println("Sold #1 for 100 HBAR: the artist has " + balance(artist));

    call("/v1/add", Map.of("accountId", first.id.toString(), "tokenId", token.toString(), "serialNo", 1));
    complete("/v1/list/extwallet", first, token, Map.of("listingPrice", 200));
    waitFor(true, token);
    System.out.println("Listed #1 for 200 HBAR");
    complete("/v1/buy/extwallet", buyer, token, Map.of());
    waitFor(false, token);
    System.out.println("Bought #1: the artist has " + balance(artist) + ", the buyer " + balance(buyer));

    var history = call("/sandbox/api/v1/tokens/" + token + "/nfts/1/transactions?order=asc", null);
    var types = new ArrayList<String>();
    for (var event : history.getAsJsonArray("transactions")) types.add(event.getAsJsonObject().get("type").getAsString());
    System.out.println("Its history: " + String.join(", ", types));
    client.close();
  }
}
