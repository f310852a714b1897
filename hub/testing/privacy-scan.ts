/**
 * For tests: what a thief of the hub's disk learns of senders. Every byte that the hub keeps is searched for every form
 * of what must not be there; the registry's own rows of an agent are the only place where it may stand.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { aidBytes } from '../../protocol/identity/aid.ts'
import { type Database, openReader, type Value } from '../store/sqlite/database.ts'
import { random, registeredAgent, startTestHub, type TestAgent, type TestHub } from './hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from './mail.ts'
import { makeOpenTraffic } from './open-traffic.ts'
import { ask, payment } from './payments.ts'
import { Wire1Client } from './wire1.ts'

/** Tables whose rows are the registry's own rows of an agent, or its account: who has credits stands there. */
const CREDIT_TABLES = ['ledger_account', 'ledger_transfer', 'ledger_voucher', 'supply_record', 'supply_piece']
const REGISTRY_TABLES = ['agent', 'account', 'directory', 'told_card', ...CREDIT_TABLES]
/** Tables that tell of credits, and tables of mail and reviews, to which nothing of them may lead. */
const LEDGER = /^(ledger|supply)_/
const MAIL =
  /^(envelope|digest|digest_new|delivery|capability_use|revocation|review|told_review|peer_review|mailbox)$/
const LARGE_CONTENT_BYTES = 70_000
const LARGE_EVERY = 97
/** Where the words of open mail may stand: nowhere else, and those that a visitor is answered nowhere at all. */
const OPEN_TABLES = /^open_message\./
const OPEN_FILES = /^open/
/** Shorter texts are words. */
const MEANING_CHARS = 16

/** A text as it could hide on a disk: as it is, as bytes, hex, base64, and hashed. */
export function forms(secret: Uint8Array): Buffer[] {
  const raw = [secret, sha256(secret), sha256(utf8(Buffer.from(secret).toString('base64url')))].map(bytes =>
    Buffer.from(bytes),
  )
  return raw.flatMap(bytes => [
    bytes,
    ...(['hex', 'base64', 'base64url'] as const).map(encoding =>
      Buffer.from(bytes.toString(encoding).replace(/=+$/, '')),
    ),
  ])
}

/** Places of the hub's tables outside the registry where one of these forms stands. */
export function scanTables(directory: string, secrets: Uint8Array[], extraTables: string[] = []): string[] {
  const wanted = secrets.flatMap(forms)
  const db = openReader(join(directory, 'hub.db'))
  const tables = db
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map(table => table.name)
    .filter(name => !REGISTRY_TABLES.includes(name) || extraTables.includes(name))
  const places = tables.flatMap(table =>
    db.all<Record<string, Value>>(`SELECT * FROM "${table}"`).flatMap(row =>
      Object.entries(row)
        .filter(([, value]) => holds(value, wanted))
        .map(([column]) => `${table}.${column}`),
    ),
  )
  db.close()
  return [...new Set(places)]
}

/** Pairs of a column of the ledger and one of mail or reviews that have a text or bytes in common. */
export function scanJoins(directory: string): string[] {
  const db = openReader(join(directory, 'hub.db'))
  const tables = db
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map(({ name }) => name)
  const columns = (of: RegExp) => tables.filter(name => of.test(name)).flatMap(table => valuesOf(db, table))
  const mail = columns(MAIL)
  const joins = columns(LEDGER).flatMap(one =>
    mail
      .filter(other => !one.values.isDisjointFrom(other.values))
      .map(other => `${one.place} = ${other.place}`),
  )
  db.close()
  return joins
}

/** The texts and bytes of each column, long enough to mean one thing. */
function valuesOf(db: Database, table: string): { place: string; values: Set<string> }[] {
  const found = new Map<string, Set<string>>()
  for (const row of db.all<Record<string, Value>>(`SELECT * FROM "${table}"`)) {
    for (const [column, value] of Object.entries(row)) {
      const values = found.get(column) ?? found.set(column, new Set()).get(column)
      if (value instanceof Uint8Array || (typeof value === 'string' && value.length >= MEANING_CHARS))
        values?.add(typeof value === 'string' ? value : Buffer.from(value).toString('hex'))
    }
  }
  return [...found].map(([column, values]) => ({ place: `${table}.${column}`, values }))
}

/** Files of the hub that hold one of these forms. */
export function scanFiles(
  directory: string,
  secrets: Uint8Array[],
  accept: (name: string) => boolean,
): string[] {
  const wanted = secrets.flatMap(forms)
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(name => {
    const path = join(directory, name)
    return accept(name) && statSync(path).isFile() && holds(readFileSync(path), wanted)
  })
}

function holds(value: Value, wanted: Buffer[]): boolean {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return false
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)
  return wanted.some(form => bytes.includes(form))
}

type Traffic = { senders: TestAgent[]; recipients: TestAgent[]; secrets: Uint8Array[] }

/** Sends of both kinds between registered agents, some large, some collected. */
async function makeTraffic(hub: TestHub, sends: number): Promise<Traffic> {
  const senders = await agents(hub, 4)
  const recipients = await agents(hub, 8)
  for (let i = 0; i < sends; i++) {
    const recipient = recipients[i % recipients.length] as TestAgent
    const contentBytes = i % LARGE_EVERY === 0 ? LARGE_CONTENT_BYTES : 512
    if (i % 16 === 0) {
      hub.clock.advance(60_000)
      const sender = senders[(i / 16) % senders.length] as TestAgent
      const session = await sender.openSession()
      await sendEnvelope(hub, sealedForStranger(recipient, { contentBytes: 512 }), session)
      await ask(hub, 'x402Settle', payment(sender, recipient, 1, { purpose: random(32) }).request)
    } else await sendEnvelope(hub, sealedUnderCapability(recipient, recipient.capability(), { contentBytes }))
    if (i % 500 === 499) await collect(recipient)
  }
  return { senders, recipients, secrets: senders.map(sender => aidBytes(sender.aid)) }
}

async function collect(agent: TestAgent): Promise<void> {
  const { messages } = await agent.poll({ limit: 50 })
  if (messages.length > 0) await agent.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
}

async function agents(hub: TestHub, count: number): Promise<TestAgent[]> {
  return await Promise.all(Array.from({ length: count }, () => registeredAgent(hub)))
}

/** The test after so many sends. */
export function testNothingTells(sends: number): void {
  test(`after ${sends} sends of both kinds nothing on the disk tells who sent`, async () => {
    const hub = await startTestHub()
    const { secrets, senders } = await makeTraffic(hub, sends)
    expect(scanTables(hub.directory, secrets)).toEqual([])
    expect(scanJoins(hub.directory)).toEqual([])
    expect(scanFiles(hub.directory, secrets, name => !name.startsWith('hub.db'))).toEqual([])
    const tells = hub.alerts.filter(alert => senders.some(one => JSON.stringify(alert).includes(one.aid)))
    expect(tells).toEqual([])
    await hub.close()
  })
}

/** The test with both lines busy at once: sealed mail tells as little, and open mail is read in its own place alone. */
export function testBothLinesTellNothing(sends: number): void {
  test(`after ${sends} sends on each of two lines neither tells of the other, and the log tells of none`, async () => {
    const hub = await startTestHub({
      wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined },
      guests: true,
    })
    const [{ secrets }, said] = await Promise.all([
      makeTraffic(hub, sends),
      makeOpenTraffic(new Wire1Client(hub), sends),
    ])
    expect(scanTables(hub.directory, secrets)).toEqual([])
    expect(scanJoins(hub.directory)).toEqual([])
    const beside = (name: string): boolean => !name.startsWith('hub.db')
    expect(scanFiles(hub.directory, secrets, beside)).toEqual([])

    const [letters, unkept] = [[utf8(said.letters)], [utf8(said.unkept)]]
    const places = scanTables(hub.directory, letters, REGISTRY_TABLES)
    expect(places.filter(place => !OPEN_TABLES.test(place))).toEqual([])
    const files = scanFiles(hub.directory, letters, beside)
    expect(files.filter(name => !OPEN_FILES.test(name))).toEqual([])
    expect(places.length + files.length).toBeGreaterThan(0)
    expect(scanTables(hub.directory, unkept, REGISTRY_TABLES)).toEqual([])
    expect(scanFiles(hub.directory, unkept, () => true)).toEqual([])

    const log = Buffer.from(JSON.stringify(hub.alerts))
    const wanted = [...secrets, ...letters, ...unkept].flatMap(forms)
    expect(wanted.filter(form => log.includes(form))).toEqual([])
    await hub.close()
  })
}
