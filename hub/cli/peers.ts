/** What `svc-hub peers` does: listing another hub, once its operator has confirmed who it is. */
import { createInterface } from 'node:readline/promises'
import { toBase64url, utf8Length } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { isVisibleLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodeKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { amountOfText } from '../../protocol/proof/payment.ts'
import { systemTimers } from '../../protocol/timers.ts'
import type { Config } from '../config.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { type Order, REFERENCE_BYTES_MAX } from '../operator/order-shapes.ts'
import { PEER_URL_EXPECTED } from '../operator/peer-orders.ts'
import { StoreRefused } from '../store/port.ts'
import { AMOUNT_EXPECTED, aidOf, type Flags, order, UsageError } from './commands.ts'

const LIMIT_EXPECTED =
  'expected how many credits the peer may owe: a whole number, 0 for none, at most 9007199254740991'

export async function peers(
  [what, who, credits]: (string | undefined)[],
  { yes: confirmed, ref, 'wire1-url': openUrl }: Flags,
  config: Config,
): Promise<number> {
  if (confirmed !== undefined && what !== 'add') throw new UsageError('--yes goes with add')
  if (openUrl !== undefined && what !== 'add') throw new UsageError('--wire1-url goes with add')
  if (ref !== undefined && what !== 'paid') throw new UsageError('--ref goes with paid')
  if (credits !== undefined && what !== 'limit' && what !== 'paid')
    throw new UsageError(`unexpected argument: ${credits}`)
  switch (what) {
    case 'add':
      return await order(await listing(who, openUrl, confirmed), config)
    case 'limit':
      return await order(
        { command: 'peers', limit: { aid: aidOf(who), credits: creditsOf(credits) } },
        config,
      )
    case 'paid':
      return await order({ command: 'peers', paid: paidOf(who, credits, ref) }, config)
    case 'reopen':
      return await order({ command: 'peers', reopen: aidOf(who) }, config)
    case 'rm':
      return await order({ command: 'peers', remove: aidOf(who) }, config)
    case undefined:
    case 'ls':
      if (who !== undefined) throw new UsageError(`unexpected argument: ${who}`)
      return await order({ command: 'peers' }, config)
    default:
      throw new UsageError(`expected ls, add, limit, paid, reopen or rm, got ${what}`)
  }
}

/** What a peer may owe: 0 for nothing. */
function creditsOf(given: string | undefined): number {
  if (given === '0') return 0
  if (given === undefined || amountOfText(given) === undefined) throw new UsageError(LIMIT_EXPECTED)
  return Number(given)
}

/** What came in of its debt, and under which reference. */
function paidOf(who: string | undefined, credits: string | undefined, ref: string | boolean | undefined) {
  if (credits === undefined || amountOfText(credits) === undefined) throw new UsageError(AMOUNT_EXPECTED)
  if (typeof ref !== 'string' || ref === '' || utf8Length(ref) > REFERENCE_BYTES_MAX || !isVisibleLine(ref))
    throw new UsageError(
      `--ref expects the reference of the money that came in: one line of 1 to ${REFERENCE_BYTES_MAX} bytes`,
    )
  return { aid: aidOf(who), amount: Number(credits), reference: ref }
}

/** Asks the other hub who it is. Its AID is the fingerprint of its first key: both operators compare it. */
async function listing(
  url: string | undefined,
  openUrl: string | boolean | undefined,
  confirmed: string | boolean | undefined,
): Promise<Order> {
  const shown = url ?? openUrl
  for (const one of [shown, openUrl ?? shown])
    if (typeof one !== 'string' || !isHubUrl(one)) throw new UsageError(PEER_URL_EXPECTED)
  const logs = [
    ...(url === undefined ? [] : [await sealedLog(url)]),
    ...(typeof openUrl === 'string' ? [await openLog(openUrl)] : []),
  ]
  const [log, other = log] = logs as [VerifiedKel, VerifiedKel?]
  if (log.aid !== other.aid)
    throw new StoreRefused(
      `${url} is ${log.aid}, and ${openUrl} is ${other.aid}; name two addresses of one hub`,
    )
  const named = [url, openUrl === undefined ? undefined : `--wire1-url ${openUrl}`]
  const again = named.filter(one => one !== undefined).join(' ')
  await confirm(log.aid, { url: String(shown), again }, confirmed)
  const kel = toBase64url(encodeKel((log.seq < other.seq ? other : log).events))
  return { command: 'peers', add: { kel, ...present({ url, open_url: openUrl as string | undefined }) } }
}

async function sealedLog(url: string): Promise<VerifiedKel> {
  return await askSealed(url).catch(async (error: unknown) => {
    if (!(await speaks(askOpen, url))) throw error
    throw new StoreRefused(
      `the hub at ${url} speaks wire 1 there; list it with: svc-hub peers add --wire1-url ${url}`,
      { cause: error },
    )
  })
}

async function openLog(url: string): Promise<VerifiedKel> {
  return await askOpen(url).catch(async (error: unknown) => {
    const found = (await speaks(askSealed, url))
      ? `the hub at ${url} speaks wire 3 there; ask its operator where it speaks wire 1, or list it with: svc-hub peers add ${url}`
      : `the hub at ${url} gives no usable answer over wire 1: ${wordsOf(error)}`
    throw new StoreRefused(found, { cause: error })
  })
}

type Ask = (url: string) => Promise<VerifiedKel>

const askSealed: Ask = async url => {
  const { OtherHub } = await import('../witness/other-hub.ts')
  return await new OtherHub(url, systemTimers).log()
}

const askOpen: Ask = async url => {
  const { openLogAt } = await import('../peers/open-mail-calls.ts')
  return await openLogAt(url, systemTimers)
}

const speaks = async (ask: Ask, url: string): Promise<boolean> =>
  await ask(url).then(
    () => true,
    () => false,
  )

type Asked = { url: string; again: string }

async function confirm(
  aid: string,
  { url, again }: Asked,
  given: string | boolean | undefined,
): Promise<void> {
  if (given === aid) return
  if (given !== undefined)
    throw new StoreRefused(`the hub at ${url} is ${aid}, not ${given}; ask its operator which one is right`)
  if (!process.stdin.isTTY)
    throw new StoreRefused(
      `the hub at ${url} says that it is ${aid}; compare that with its operator, then run: svc-hub peers add ${again} --yes ${aid}`,
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question(
      `The hub at ${url} is ${aid}\nDoes its operator say the same? Type y to list it: `,
    )
    if (answer.trim().toLowerCase() !== 'y') throw new StoreRefused('nothing was listed')
  } finally {
    terminal.close()
  }
}
