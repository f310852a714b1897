/**
 * A customer with the stock packages: `node client.mjs <URL> <AID> <seed as hex> <key state> [times]`. It pays once and
 * prints the answer; with `times`, the same payment goes out so often at the same moment, and the answers are counted.
 */
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { CreditClient, payerWithSeed } from '../../x402/dist/index.js'

const [url, aid, seed, keyState, times] = process.argv.slice(2)
const payer = payerWithSeed(aid, Number(keyState), new Uint8Array(Buffer.from(seed, 'hex')))
const client = new x402Client()
client.setSpendControls({ allowedAssets: true })
client.register('hub:*', new CreditClient({ payer }))

let header
/** What goes out, so that it can go out again. */
const watched = (given, init) => {
  const request = new Request(given, init)
  header = request.headers.get('PAYMENT-SIGNATURE') ?? header
  return times !== undefined && request.headers.has('PAYMENT-SIGNATURE') ? Response.json({}) : fetch(request)
}
const reply = await wrapFetchWithPayment(watched, client)(url)
if (times === undefined) {
  const settled = reply.headers.get('PAYMENT-RESPONSE')
  const paid = settled === null ? null : decodePaymentResponseHeader(settled)
  print({ status: reply.status, body: await reply.json().catch(() => null), paid })
} else {
  const again = () => fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } }).then(({ status }) => status)
  print({ statuses: await Promise.all(Array.from({ length: Number(times) }, again)) })
}

function print(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
