/** Every decoder of the protocol beside the bytes of the vectors. */
import { readdirSync } from 'node:fs'
import { plainCard } from '../../hub/testing/cards.ts'
import { cursorAfter, readCursor, sinceCursor } from '../../protocol/control/cursors.ts'
import { FrameOpener, FrameSealer } from '../../protocol/control/page-frames.ts'
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import {
  concat,
  fromBase64,
  fromBase64url,
  fromHex,
  fromUtf8,
  Malformed,
  toBase64,
  toBase64url,
  toHex,
  utf8,
} from '../../protocol/encoding/bytes.ts'
import { type CborValue, decode, encode } from '../../protocol/encoding/cbor.ts'
import { canonicalJson, parseJson } from '../../protocol/encoding/json.ts'
import { plainLine, plainText } from '../../protocol/encoding/plain-text.ts'
import { signCard, verifyCard } from '../../protocol/identity/card.ts'
import { DirectoryEntry, openBox, parseBucketPrefix } from '../../protocol/identity/directory.ts'
import { decodeIdentity, encodeIdentity } from '../../protocol/identity/identity-file.ts'
import { decodeKel, encodeKel, KelInvalid, verifyKel } from '../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../protocol/identity/kel-lazy.ts'
import { KeySet, KeyStateNotice } from '../../protocol/identity/keyset.ts'
import { signOpenCard, verifyOpenCard } from '../../protocol/identity/open-card.ts'
import { decodeAccess, encodeAccess } from '../../protocol/mail/access.ts'
import { Capability } from '../../protocol/mail/capability.ts'
import { openDack } from '../../protocol/mail/dack.ts'
import { parseEnvelopeHead } from '../../protocol/mail/envelope.ts'
import { decodeHead, encodeHead } from '../../protocol/mail/message.ts'
import { decodeOpen, encodeOpen } from '../../protocol/mail/open-message.ts'
import { decodePayload, encodePayload } from '../../protocol/mail/payload.ts'
import { SessionGrant } from '../../protocol/mail/session.ts'
import { ChainExport, exportLine, parseExportLine } from '../../protocol/proof/chain-export.ts'
import { parseCheckpoint } from '../../protocol/proof/checkpoint.ts'
import { ClearingStatement } from '../../protocol/proof/clearing.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import {
  documentBytes,
  parseRequestDocument,
  parseResultDocument,
  parseTextDocument,
} from '../../protocol/proof/documents.ts'
import { Effect } from '../../protocol/proof/effect.ts'
import {
  ChainInvalid,
  ChainRecord,
  GENESIS,
  parseRecordLine,
  readRecord,
  recordLine,
} from '../../protocol/proof/evidence.ts'
import { readHead } from '../../protocol/proof/held-head.ts'
import { EMPTY_ROOT } from '../../protocol/proof/liability.ts'
import { decodeShared, encodeShared, OpenReview } from '../../protocol/proof/open-review.ts'
import { Authorization, HoldOrder, networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { paymentRequired, type Quote, readQuote } from '../../protocol/proof/quote.ts'
import {
  Attestation,
  CounterSignature,
  decodeReviewable,
  encodeReviewable,
  Receipt,
  Review,
} from '../../protocol/proof/receipt.ts'
import {
  creditIssued,
  creditPayload,
  type Epoch,
  epochPayload,
  supplyEpoch,
  supplyEventOf,
} from '../../protocol/proof/supply.ts'
import { Voucher } from '../../protocol/proof/voucher.ts'
import { WitnessStatement } from '../../protocol/proof/witness.ts'
import { agent, fixture } from '../../protocol/testing/agents.ts'
import { format, malformed, reader, type Subject, subject } from './subject.ts'

type Cases = Record<string, string>[]
/** Hex members of a fixture's cases. */
const hex = (cases: Cases, member: string): Uint8Array[] => cases.map(one => fromHex(one[member] ?? ''))
const valid = (path: string): Cases => fixture<{ valid: Cases }>(path).valid
const cases = (path: string): Cases => fixture<{ cases: Cases }>(path).cases

function keyLogs(): Uint8Array[] {
  const folder = new URL('../../fixtures/kel/valid/', import.meta.url)
  return readdirSync(folder).map(file => fromHex(fixture<{ log: string }>(`kel/valid/${file}`).log))
}

type Documents = Record<'request' | 'message' | 'result', { valid: { text: string }[] }>
const documents = (kind: keyof Documents): Uint8Array[] =>
  fixture<Documents>('documents/documents.json')[kind].valid.map(({ text }) => utf8(text))
const texts = (...given: string[]): Uint8Array[] => given.map(utf8)
/** Texts of another alphabet than the reader's are no case of it: what is no UTF-8 ends before. */
const ofText = (read: (text: string) => Uint8Array | undefined) => (bytes: Uint8Array) =>
  read(new TextDecoder().decode(bytes))

function plainFormats(): Subject[] {
  const [floats, items] = examples()
  const receipts = hex(valid('receipt/receipts.json'), 'receipt')
  const json = [
    ...documents('result'),
    ...texts('{"a":[1,-2.5e3,"\\u00e9\\n",null,true,{}]}', '[[],{"b":""}]'),
  ]
  return [
    subject('svc-cbor', [...items, ...receipts], bytes => encode(decode(bytes))),
    subject('svc-cbor with floats', [...items, ...floats, ...effects()], bytes =>
      encode(decode(bytes, { floats: true })),
    ),
    reader('strict JSON', json, bytes => canonicalJson(parseJson(bytes))),
    subject(
      'base64url',
      texts('AAEC', '_-8'),
      ofText(text => utf8(toBase64url(fromBase64url(text)))),
    ),
    subject(
      'base64',
      texts('AAEC', '+/8='),
      ofText(text => utf8(toBase64(fromBase64(text)))),
    ),
    subject(
      'hex',
      texts('00ff', ''),
      ofText(text => utf8(toHex(fromHex(text)))),
    ),
    subject('UTF-8', texts('é€😀'), bytes => utf8(fromUtf8(bytes))),
    subject(
      'content id',
      fixture<{ cids: Cases }>('hash/hashes.json').cids.map(one => utf8(one['cid'] ?? '')),
      ofText(text => utf8(cidText(parseCid(text)))),
    ),
    reader(
      'bucket prefix',
      texts('AAA', 'n0A', '_8A'),
      ofText(text => parseBucketPrefix(text, 10)),
    ),
    subject(
      'cursor of a list of tasks',
      texts('1790000000000.AAAAAAAAAAAAAAAAAAAAAA', 'n12.1790000000000', 'n0.0'),
      ofText(text => utf8(cursorAgain(text))),
    ),
    // what stands behind its text are signatures, which it does not read
    reader('checkpoint of a supply chain', texts(`${ORIGIN}\n12\n${'A'.repeat(43)}=\n\n`), bytes =>
      parseCheckpoint(fromUtf8(bytes), ORIGIN),
    ),
    subject('call of a page', [framesOf('{"method":"GET","target":"/status","at":1}', 'part')], framesAgain),
    subject('text made plain', texts('a\u202eb\r\nc', 'e\u0301'), ofText(checkPlain), () => false),
  ]
}

const ORIGIN = 'svc-supply/fuzz'

function framesOf(...contents: string[]): Uint8Array {
  const sealer = new FrameSealer(new Uint8Array(32))
  const [head = '', ...parts] = contents
  return concat(sealer.seal('head', utf8(head)), ...parts.map(part => sealer.seal('part', utf8(part))))
}

function framesAgain(bytes: Uint8Array): Uint8Array {
  const sealer = new FrameSealer(new Uint8Array(32))
  const frames = [...new FrameOpener(new Uint8Array(32)).open(bytes)]
  const again = concat(...frames.map(({ kind, content }) => sealer.seal(kind, content)))
  // the rest may still come
  if (again.length < bytes.length) throw new Malformed('the last frame is cut off')
  return again
}

function cursorAgain(text: string): string {
  const cursor = readCursor(text)
  if (cursor === undefined) throw new Malformed('no cursor')
  if (cursor.kind === 'since') return sinceCursor(cursor)
  return cursorAfter({ last_at: cursor.lastAt, interaction_id: cursor.interactionId })
}

/** The valid examples of RFC 8949: with floats, and without. */
function examples(): [Uint8Array[], Uint8Array[]] {
  const all = hex(
    cases('cbor/appendix-a.json').filter(one => one['verdict'] === 'valid'),
    'hex',
  )
  const takes = (bytes: Uint8Array): boolean => {
    try {
      return decode(bytes) !== undefined
    } catch {
      return false
    }
  }
  return [all.filter(bytes => !takes(bytes)), all.filter(takes)]
}

/** What is left of a text is plain already, and one line is one line. */
function checkPlain(text: string): undefined {
  const plain = plainText(text)
  if (plainText(plain) !== plain) throw new Error('made plain twice, it is another text')
  if (/[\n\r]/.test(plainLine(text, 80)) || [...plainLine(text, 80)].length > 80) throw new Error('no line')
}

const effects = (): Uint8Array[] =>
  fixture<{ rendered: Cases }>('effect/effects.json').rendered.map(one => fromHex(one['effect'] ?? ''))

function identityFile(): Uint8Array {
  const { log, identitySeed } = agent('identity file')
  return encodeIdentity(identitySeed, log)
}

function identityFormats(): Subject[] {
  const logs = keyLogs()
  const boxes = valid('directory/boxes.json')
  const [box] = boxes
  const aid = box?.['aid'] ?? ''
  const entries = boxes.map(one =>
    DirectoryEntry.encode(openBox(one['aid'] ?? '', fromHex(one['box'] ?? ''))),
  )
  return [
    subject('key event log', logs, bytes => encodeKel(decodeKel(bytes))),
    subject('key event log, read where it is looked at', logs, bytes => encodeKel(decodeKelLazily(bytes))),
    reader(
      'key event log, verified',
      logs,
      bytes => verifyKel(decodeKel(bytes)),
      error => malformed(error) || error instanceof KelInvalid,
    ),
    subject(
      'identity file',
      [identityFile()],
      bytes => {
        const { seed, log } = decodeIdentity(bytes)
        return encodeIdentity(seed, log)
      },
      error => malformed(error) || error instanceof KelInvalid,
    ),
    format('key set', hex(valid('keyset/sets.json'), 'set'), KeySet),
    format('key state notice', hex(cases('keyset/notices.json').slice(0, 1), 'notice'), KeyStateNotice),
    format('directory entry', entries, DirectoryEntry),
    reader('directory box', [fromHex(box?.['box'] ?? '')], bytes => openBox(aid, bytes)),
  ]
}

function relayFormats(): Subject[] {
  const [dack] = fixture<{ valid: { handleSecret: string; sealed: string }[] }>('dack/dacks.json').valid
  const secret = fromHex(dack?.handleSecret ?? '')
  const heads = hex(valid('seal/envelope-heads.json'), 'bytes')
  return [
    subject('access record', hex(valid('seal/access.json'), 'bytes'), bytes =>
      encodeAccess(decodeAccess(bytes)),
    ),
    reader('envelope head', heads, bytes => parseEnvelopeHead(bytes)),
    format('capability', signedOf('capability/capabilities.json'), Capability),
    format('session grant', [sessionGrant()], SessionGrant),
    reader('delivery confirmation', [fromHex(dack?.sealed ?? '')], bytes => openDack(secret, bytes)),
  ]
}

function sessionGrant(): Uint8Array {
  const { grant } = fixture<{ grant: { macKey: string; quota: number; expMs: number } }>(
    'session/sessions.json',
  )
  return SessionGrant.encode({ ...grant, macKey: fromHex(grant.macKey) })
}

/** Signed objects of a fixture that keeps body and signature apart. */
const signedOf = (path: string): Uint8Array[] =>
  valid(path).map(one => encode([fromHex(one['body'] ?? ''), fromHex(one['signature'] ?? '')]))

function workFormats(): Subject[] {
  const reviews = fixture<{
    reviewable: { item: string }
    reviews: { valid: Cases }
    attestation: { attestation: string }
  }>('receipt/reviews.json')
  const open = fixture<{ shared: { item: string } }>('receipt/open-reviews.json')
  const heads = hex(valid('seal/messages.json'), 'head')
  const kinds = valid('seal/payloads.json') as unknown as { kind: number; bytes: string }[]
  return [
    subject('message head', heads, bytes => encodeHead(decodeHead(bytes))),
    subject('open message', hex(valid('open/messages.json'), 'bytes'), bytes =>
      encodeOpen(decodeOpen(bytes)),
    ),
    subject(
      'payload, behind its kind',
      kinds.map(({ kind, bytes }) => Uint8Array.of(kind, ...fromHex(bytes))),
      bytes => payloadAgain(bytes[0] ?? 0, bytes.subarray(1)),
    ),
    subject('request document', documents('request'), bytes => documentBytes(parseRequestDocument(bytes))),
    subject('message document', documents('message'), bytes => documentBytes(parseTextDocument(bytes))),
    reader('result document', documents('result'), bytes => parseResultDocument(bytes)),
    format('receipt', hex(valid('receipt/receipts.json'), 'receipt'), Receipt),
    format(
      'counter-signature',
      hex(cases('receipt/counter-signatures.json').slice(0, 1), 'counterSignature'),
      CounterSignature,
    ),
    subject('receipt as uploaded', [fromHex(reviews.reviewable.item)], bytes =>
      encodeReviewable(decodeReviewable(bytes)),
    ),
    format('review', hex(reviews.reviews.valid, 'review'), Review),
    format('attestation', [fromHex(reviews.attestation.attestation)], Attestation),
    format('open review', hex(valid('receipt/open-reviews.json'), 'review'), OpenReview),
    subject('receipt of both sides', [fromHex(open.shared.item)], bytes => encodeShared(decodeShared(bytes))),
    format('effect', effects(), Effect),
    cardSubject(),
    openCardSubject(),
    ...paymentFormats(),
  ]
}

/** A payload read and spelled again, its kind before it. */
function payloadAgain(kind: number, bytes: Uint8Array): Uint8Array {
  const { payload } = decodePayload(kind, bytes)
  const spelled = encodePayload(kind as 0, payload as Parameters<typeof encodePayload<0>>[1])
  return Uint8Array.of(kind, ...spelled)
}

function paymentFormats(): Subject[] {
  type Valid<N extends string> = { valid: Record<N, string>[] }
  const { receipts, orders } = fixture<{ receipts: Valid<'receipt'>; orders: Valid<'order'> }>(
    'payment/settlements.json',
  )
  const { aid } = agent('supply')
  const quote: Quote = {
    provider: aid,
    what: 'text.count',
    amount: 5,
    network: networkOf(aid),
    holdSeconds: 60,
    settleSeconds: 60,
  }
  return [
    format('authorization', hex(valid('payment/authorizations.json'), 'authorization'), Authorization),
    format('settlement receipt', hex(receipts.valid, 'receipt'), SettlementReceipt),
    format('order about a hold', hex(orders.valid, 'order'), HoldOrder),
    format('clearing statement', hex(valid('payment/clearings.json'), 'statement'), ClearingStatement),
    format('voucher', hex(valid('payment/vouchers.json'), 'voucher'), Voucher),
    format('witness statement', hex(valid('payment/witnesses.json'), 'statement'), WitnessStatement),
    reader('verifier key of a cosigner', [utf8(VERIFIER_KEY)], bytes =>
      parseVerifierKey(new TextDecoder().decode(bytes)),
    ),
    reader('quote', [utf8(canonicalJson(paymentRequired(quote)))], bytes =>
      readQuote(parseJson(bytes), quote),
    ),
    supplyReader(creditIssued, creditPayload({ aid: agent('supply').aid, amount: 5, reason: 'grant' })),
    supplyReader(supplyEpoch, epochPayload(emptyEpoch)),
  ]
}

const VERIFIER_KEY = 'witness.example/w1+490ca8b1+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

const supplyReader = (eventType: string, sample: CborValue): Subject =>
  reader(`payload of ${eventType}`, [encode(sample)], bytes =>
    supplyEventOf({ eventType, payload: decode(bytes) }),
  )

const emptyEpoch: Epoch = {
  day: 20_600,
  from_day: 20_600,
  issued: 0,
  retired: 0,
  outstanding: 0,
  held: 0,
  owed_by_peers: 0,
  due_to_peers: 0,
  root: EMPTY_ROOT.h,
  root_sum: 0,
  depth: 0,
  accounts: 0,
  ledger_hw: 0,
  chain_hw: 0,
}

function cardSubject(): Subject {
  const { log, identitySeed } = agent('card')
  const hub = 'https://hub.example'
  const card = signCard(plainCard, { seed: identitySeed, aid: log.aid, seq: log.seq, baseUrl: hub })
  return reader('A2A card', [utf8(JSON.stringify(card))], bytes => verifyCard(parseJson(bytes), log, hub))
}

function openCardSubject(): Subject {
  const { log, identitySeed } = agent('card')
  const card = signOpenCard(plainCard, { seed: identitySeed, aid: log.aid, seq: log.seq, number: 1 })
  const read = (bytes: Uint8Array) => verifyOpenCard(fromUtf8(bytes), log)
  return reader('open A2A card', [utf8(JSON.stringify(card))], read)
}

function chainFormats(): Subject[] {
  const chain = fixture<{ chainDid: string; records: { record: string; line: string }[] }>(
    'evidence/chain.json',
  )
  const records = chain.records.map(({ record }) => fromHex(record))
  const place = { seq: 0, previous: GENESIS, chainDid: chain.chainDid }
  return [
    format('chain record', records, {
      decode: bytes => ChainRecord.read(decode(bytes, { floats: true }), 'chain record'),
      encode: value => encode(ChainRecord.write(value)),
    }),
    reader(
      'chain record in its place',
      records.slice(0, 1),
      bytes => readRecord(bytes, place),
      error => error instanceof ChainInvalid,
    ),
    subject(
      'line of the chain file',
      chain.records.map(({ line }) => utf8(line)),
      ofText(text => utf8(recordLine(parseRecordLine(text)).trimEnd())),
    ),
    ...exportFormats(),
  ]
}

function exportFormats(): Subject[] {
  const { firstLines } = fixture<{ firstLines: { valid: { line: string }[] } }>('evidence/exports.json')
  const lines = firstLines.valid.map(({ line }) => line)
  const heads = fixture<{ valid: { heldHead: string }[] }>('receipt/held-heads.json').valid
  const isRefused = (error: unknown) => malformed(error) || error instanceof KelInvalid
  return [
    format(
      'chain export',
      lines.map(line => ChainExport.encode(parseExportLine(line).signed)),
      ChainExport,
    ),
    subject(
      'first line of a chain export',
      lines.map(utf8),
      ofText(text => {
        const { signed, owner } = parseExportLine(text)
        return utf8(exportLine(signed, owner.events))
      }),
      isRefused,
    ),
    reader(
      'head of a chain',
      heads.map(({ heldHead }) => fromHex(heldHead)),
      readHead,
    ),
  ]
}

/** Every decoder of the protocol. */
export const protocolSubjects = (): Subject[] => [
  ...plainFormats(),
  ...identityFormats(),
  ...relayFormats(),
  ...workFormats(),
  ...chainFormats(),
]
