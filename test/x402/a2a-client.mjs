/**
 * A client of a node's A2A interface that pays with the stock packages: `node a2a-client.mjs <URL> <token> <capability>
 * <AID> <seed as hex> <key state>`. It prints the answer and what was settled.
 */
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { CreditClient, payerWithSeed } from '../../x402/dist/index.js'

const [url, token, capability, aid, seed, keyState] = process.argv.slice(2)
const payer = payerWithSeed(aid, Number(keyState), new Uint8Array(Buffer.from(seed, 'hex')))
const client = new x402Client()
client.setSpendControls({ allowedAssets: true })
client.register('hub:*', new CreditClient({ payer, holdSecondsMax: 2 * 3600 }))

const message = {
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ data: { capability, args: {} } }],
}
const reply = await wrapFetchWithPayment(fetch, client)(`${url}/message:send`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${token}`, 'A2A-Version': '1.0', 'Content-Type': 'application/json' },
  body: JSON.stringify({ message }),
})
const settled = reply.headers.get('PAYMENT-RESPONSE')
const paid = settled === null ? null : decodePaymentResponseHeader(settled)
process.stdout.write(`${JSON.stringify({ status: reply.status, body: await reply.json(), paid })}\n`)
