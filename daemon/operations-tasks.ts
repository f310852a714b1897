/** Operations on tasks: delegate, converse, end, rate, verify. Each answers after its commit, not after the network. */
import * as fs from 'node:fs'
import { resolve } from 'node:path'
import { sha256 } from '#crypto'
import { equal, fromBase64url, utf8 } from '../protocol/bytes.ts'
import { documentBytes, documentCid, type RequestDocument } from '../protocol/documents.ts'
import { cidText, contentId } from '../protocol/hash.ts'
import { canonicalJson, type JsonValue } from '../protocol/json.ts'
import type { Attachment } from '../protocol/message.ts'
import { decodePayload, encodePayload, kinds } from '../protocol/payload.ts'
import { Receipt, requesterCommitment } from '../protocol/receipt.ts'
import { fitsOneEnvelope } from '../protocol/seal.ts'
import type { Context } from './context.ts'
import { acceptEnd, cancel, decline, isCut, isRequester, proposeEnd, say } from './conversation.ts'
import type { Handlers } from './operations.ts'
import { refuse } from './refusal.ts'
import { keepReview } from './reviews.ts'
import { type Interaction, newInteractionId } from './threads.ts'
import { verifyInteraction } from './verify.ts'
import { deliveryView, messageIdText, receiptView, summaryView, threadView } from './views.ts'

const LIST_LIMIT_DEFAULT = 20
const PREVIEW_CHARACTERS = 200
const HEAD_RESERVE_BYTES = 900 * 1024
const UNFINISHED = "('pending', 'open', 'end_proposed')"
const ANSWERED = new Set(['open', 'end_proposed', 'ended', 'declined', 'failed', 'expired'])

export type TaskOperations = Pick<
  Handlers,
  | 'delegate'
  | 'inbox'
  | 'results'
  | 'thread'
  | 'message'
  | 'pull'
  | 'end'
  | 'cancel'
  | 'approve'
  | 'decline'
  | 'review'
  | 'verify'
>

export function taskOperations(
  ctx: Context,
  pullMail: () => Promise<void>,
  suggestPeers: (name: string) => Promise<string>,
): TaskOperations {
  const at = (id: string): Interaction =>
    ctx.threads.findById(id) ?? refuse('unknown_interaction', `there is no interaction ${id}`)
  const stateOf = (interaction: Interaction) => ({ interaction_id: interaction.id, state: interaction.state })

  return {
    async delegate(given, signal) {
      if (given.pay === true || given.max_credits !== undefined)
        refuse('no_credits', 'this build has no payment support')
      if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
      if (ctx.identity.log.home === undefined) refuse('no_hub', 'this node is registered at no hub')
      if (ctx.contacts.resolve(given.to) === undefined)
        refuse('unknown_peer', `"${given.to}" is no contact${await suggestPeers(given.to)}`)
      const id = delegateTask(ctx, given)
      if ((given.wait_s ?? 0) > 0)
        await waitFor(ctx, id, given.wait_s as number, signal, one => ANSWERED.has(one.state))
      const interaction = at(id)
      const [first] = ctx.threads.messages(interaction.key, 0, 1)
      const effect = effectOf(ctx, interaction)
      return {
        interaction_id: id,
        state: interaction.state,
        ...(first === undefined ? {} : { delivery: deliveryView(ctx, first) }),
        ...(effect === undefined ? {} : { effect }),
        next: `svc thread ${id}`,
      }
    },

    async inbox(given, signal) {
      if (given.pull === true) await pullMail()
      const list = () => listOf(ctx, { ...given, side: 'received', unfinished: given.pending === true })
      return waitingList(ctx, list, given.wait_s, signal)
    },

    async results(query, signal) {
      const given = {
        side: 'sent' as const,
        ended: query.ended === 'true',
        ...(query.limit === undefined ? {} : { limit: Number(query.limit) }),
        ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
      }
      return waitingList(ctx, () => listOf(ctx, given), Number(query.wait_s ?? 0), signal)
    },

    async thread(given, signal) {
      const id = given.interaction_id
      const fromTurn = given.from_turn ?? 1
      const view = () => threadView(ctx, at(id), { fromTurn, maxChars: given.max_chars })
      if ((given.wait_s ?? 0) > 0 && view().turns.length === 0)
        await ctx.events.next(
          event => event.data['interaction_id'] === id,
          (given.wait_s as number) * 1000,
          signal,
        )
      const thread = view()
      if (given.mark_read !== false && thread.next_turn === undefined) markRead(ctx, at(id))
      return thread
    },

    async message(given) {
      const interaction = at(given.interaction_id)
      const text = given.text ?? (given.file === undefined ? '' : readText(given.file))
      const attach = given.attach ?? []
      if (text === '' && attach.length === 0)
        refuse('bad_request', 'a message needs a text, a file or an attachment')
      const message = sendText(ctx, interaction, { text, attach, key: given.idempotency_key })
      return {
        interaction_id: interaction.id,
        message_id: messageIdText(message),
        turn: message.number,
        state: at(interaction.id).state,
        delivery: deliveryView(ctx, ctx.threads.message(message.key)),
      }
    },

    async pull(given) {
      return pullFiles(ctx, at(given.interaction_id), given.out ?? process.cwd())
    },

    async end(given) {
      const ended = ctx.store.transaction(() => {
        let interaction = at(given.interaction_id)
        if (isCut(interaction)) return interaction
        if (interaction.endBy === 'me' && given.mode !== 'accept') return interaction
        if (given.note) interaction = say(ctx, interaction, textMessage(given.note, [])).interaction
        return given.mode === 'accept' ? acceptEnd(ctx, interaction) : endEither(ctx, interaction, given.mode)
      }, 'node.end')
      return endView(ended)
    },

    async cancel(given) {
      return stateOf(change(ctx, () => cancel(ctx, at(given.interaction_id), given.reason ?? '')))
    },

    async approve(given) {
      return stateOf(
        change(ctx, () => {
          const interaction = at(given.interaction_id)
          if (interaction.state !== 'pending')
            refuse('wrong_state', `this interaction is ${interaction.state}, not pending`)
          ctx.store.afterCommit(() =>
            ctx.events.emit('inbox', { interaction_id: interaction.id, state: 'open' }),
          )
          return ctx.threads.update(interaction, { state: 'open' })
        }),
      )
    },

    async decline(given) {
      return stateOf(change(ctx, () => decline(ctx, at(given.interaction_id), given.reason ?? '')))
    },

    async review(given) {
      return keepReview(ctx, at(given.interaction_id), given.rating, given.comment ?? '')
    },

    async verify(given) {
      return verifyInteraction(ctx, at(given.interaction_id))
    },
  }
}

function change(ctx: Context, work: () => Interaction): Interaction {
  const interaction = ctx.store.transaction(work, 'node.change')
  return interaction
}

function endEither(
  ctx: Context,
  interaction: Interaction,
  mode: 'propose' | 'either' | undefined,
): Interaction {
  if (interaction.endBy === 'peer' && mode === 'propose') return acceptEnd(ctx, interaction)
  return proposeEnd(ctx, interaction)
}

type EndView = Awaited<ReturnType<TaskOperations['end']>>

function endView(interaction: Interaction): EndView {
  const receipt = receiptView(interaction)
  const waiting = !isCut(interaction)
    ? 'peer'
    : receipt === undefined
      ? 'receipt'
      : interaction.counterSignature === null
        ? 'counter_signature'
        : undefined
  return {
    interaction_id: interaction.id,
    state: interaction.state,
    ...(waiting === undefined ? {} : { waiting_for: waiting }),
    ...(receipt === undefined ? {} : { receipt }),
  }
}

type DelegateRequest = Parameters<TaskOperations['delegate']>[0]

/** Commits a delegation; with an idempotency key the same content is committed once. */
function delegateTask(ctx: Context, given: DelegateRequest): string {
  const peer = ctx.contacts.resolve(given.to) ?? refuse('unknown_peer', `"${given.to}" is no contact`)
  if (peer === ctx.identity.aid) refuse('bad_request', 'a task cannot be delegated to this node itself')
  if ((given.task === undefined) === (given.capability === undefined))
    refuse('bad_request', 'give either a task or a capability')
  const attachments = (given.attach ?? []).map(path => ctx.attachments.take(resolve(path)))
  const document: RequestDocument =
    given.task === undefined
      ? { capability: given.capability as string, args: given.args ?? {} }
      : { task: given.task, attachments: attachments.map(({ name, cid }) => ({ name, cid: cidText(cid) })) }
  const bytes = documentBytes(document)
  if (bytes.length > HEAD_RESERVE_BYTES - 128 * 1024)
    refuse('too_large', 'the task is larger than one message takes')
  return once(ctx, given.idempotency_key, 'delegate', { peer, document }, () => {
    const id = newInteractionId(ctx.random)
    const rsalt = ctx.random(32)
    const commitment = requesterCommitment(ctx.identity.aid, fromBase64url(id), rsalt)
    const requestCid = documentCid(bytes)
    const text = given.task ?? `${given.capability} ${JSON.stringify(given.args ?? {})}`
    const created = ctx.threads.create({
      id,
      delegator: ctx.identity.aid,
      peer,
      side: 'sent',
      state: 'queued',
      wire: 3,
      capability: given.capability ?? null,
      preview: text.slice(0, PREVIEW_CHARACTERS),
      commitment,
      rsalt,
      requestCid,
    })
    ctx.chain.append('svc.delegation.sent', {
      interaction_id: id,
      provider_aid: peer,
      request_cid: requestCid,
      capability: given.capability,
    })
    const [first, ...rest] = batches(attachments)
    const payload = encodePayload(kinds.delegate, { document: bytes, requesterCommitment: commitment })
    let { interaction } = ctx.threads.queue(created, {
      kind: kinds.delegate,
      payload,
      text,
      numbered: true,
      attachments: first ?? [],
    })
    for (const batch of rest) ({ interaction } = ctx.threads.queue(interaction, textMessage('', batch)))
    return id
  })
}

/** Attachments that fit one envelope together; what does not fit goes as further messages, one each. */
function batches(attachments: readonly Attachment[]): Attachment[][] {
  const sizes = attachments.map(attachment => attachment.size)
  if (fitsOneEnvelope(HEAD_RESERVE_BYTES, sizes)) return [[...attachments]]
  return [[], ...attachments.map(attachment => [attachment])]
}

export function textMessage(text: string, attachments: readonly Attachment[], auto = false) {
  const named = attachments.map(({ name, cid }) => ({ name, cid: cidText(cid) }))
  const document = documentBytes({ text, attachments: named })
  return {
    kind: kinds.message,
    payload: encodePayload(kinds.message, { document }),
    text,
    numbered: true,
    attachments,
    auto,
  }
}

function sendText(
  ctx: Context,
  interaction: Interaction,
  given: { text: string; attach: readonly string[]; key: string | undefined },
) {
  const attachments = given.attach.map(path => ctx.attachments.take(resolve(path)))
  if (utf8(given.text).length > HEAD_RESERVE_BYTES - 256 * 1024)
    refuse('too_large', 'the text is larger than one message takes')
  const content = { id: interaction.id, text: given.text, files: attachments.map(({ cid }) => cidText(cid)) }
  const key = once(ctx, given.key, 'message', content, () => {
    const [first, ...rest] = batches(attachments)
    let said = say(ctx, ctx.threads.byKey(interaction.key), textMessage(given.text, first ?? []))
    const { message } = said
    for (const batch of rest) said = say(ctx, said.interaction, textMessage('', batch))
    return String(message.key)
  })
  return ctx.threads.message(Number(key))
}

/** Commits work once per key; the same key with other content is refused. */
function once(
  ctx: Context,
  key: string | undefined,
  what: string,
  content: JsonValue | object,
  work: () => string,
): string {
  const digest = sha256(utf8(`${what}\0${canonicalJson(content as JsonValue)}`))
  const result = ctx.store.transaction(() => {
    if (key !== undefined) {
      const earlier = ctx.store.get<{ digest: Uint8Array; reply: string }>(
        'SELECT digest, reply FROM idempotency WHERE key = ?',
        key,
      )
      if (earlier !== undefined && !equal(earlier.digest, digest))
        refuse('idempotency_conflict', `the idempotency key "${key}" was used for other content`)
      if (earlier !== undefined) return earlier.reply
    }
    const reply = work()
    if (key !== undefined)
      ctx.store.run('INSERT INTO idempotency VALUES (?, ?, ?, ?)', key, digest, reply, ctx.now())
    return reply
  }, 'node.delegate')
  return result
}

function readText(path: string): string {
  try {
    return fs.readFileSync(resolve(path), 'utf8')
  } catch (error) {
    return refuse('file_unreadable', `cannot read ${path}: ${(error as Error).message}`)
  }
}

/** Saves attachments and both documents as files. */
function pullFiles(ctx: Context, interaction: Interaction, out: string) {
  const directory = resolve(out)
  try {
    fs.mkdirSync(directory, { recursive: true })
  } catch (error) {
    refuse('file_unreadable', `cannot write to ${directory}: ${(error as Error).message}`)
  }
  const files = ctx.threads.messages(interaction.key).flatMap(message =>
    ctx.threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
      name,
      media_type: mediaType,
      bytes: size,
      cid: cidText(cid),
      path: ctx.attachments.saveAs(cidText(cid), directory, name),
    })),
  )
  for (const [name, bytes] of documentsOf(ctx, interaction)) {
    const path = resolve(directory, name)
    fs.writeFileSync(path, bytes)
    files.push({
      name,
      media_type: 'application/json',
      bytes: bytes.length,
      cid: cidText(contentId(bytes)),
      path,
    })
  }
  return { interaction_id: interaction.id, out: directory, files }
}

/** Request and result documents, byte for byte as they were sent. */
function documentsOf(ctx: Context, interaction: Interaction): [string, Uint8Array][] {
  const found: [string, Uint8Array][] = []
  for (const message of ctx.threads.messages(interaction.key)) {
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind === kinds.delegate) found.push(['request.json', decoded.payload.document])
    const answers = decoded.kind === kinds.result || decoded.kind === kinds.message
    if (answers && interaction.resultCid === documentCid(decoded.payload.document))
      found.push(['result.json', decoded.payload.document])
  }
  return [...new Map(found).entries()]
}

/** The effect of a capability call, once it is there. */
function effectOf(ctx: Context, interaction: Interaction): unknown {
  const result = ctx.threads.messages(interaction.key).findLast(message => message.kind === kinds.result)
  if (result === undefined || !isRequester(interaction)) return undefined
  const decoded = decodePayload(result.kind, result.payload)
  return decoded.kind === kinds.result
    ? JSON.parse(Buffer.from(decoded.payload.document).toString('utf8'))
    : undefined
}

function markRead(ctx: Context, interaction: Interaction): void {
  const newest = ctx.store.get<{ key: number | null }>(
    'SELECT max(key) AS key FROM messages WHERE interaction = ?',
    interaction.key,
  )
  if ((newest?.key ?? 0) > interaction.readTo)
    ctx.store.run('UPDATE interactions SET read_to = ? WHERE key = ?', newest?.key as number, interaction.key)
}

type ListRequest = {
  side: 'sent' | 'received'
  unfinished?: boolean
  ended?: boolean
  q?: string | undefined
  limit?: number | undefined
  cursor?: string | undefined
}
type Listing = Awaited<ReturnType<TaskOperations['results']>>

/** Newest first; the cursor names the last row of the page before. */
function listOf(ctx: Context, given: ListRequest): Listing {
  const limit = given.limit ?? LIST_LIMIT_DEFAULT
  const conditions = ['side = ?']
  const parameters: (string | number)[] = [given.side]
  if (given.unfinished === true) conditions.push(`state IN ${UNFINISHED}`)
  if (given.ended === true) conditions.push("state = 'ended'")
  if (given.q !== undefined && given.q !== '') {
    conditions.push(
      'key IN (SELECT m.interaction FROM messages_text AS t JOIN messages AS m ON m.key = t.rowid WHERE messages_text MATCH ?)',
    )
    parameters.push(`"${given.q.replaceAll('"', '""')}"`)
  }
  const [updatedAt, key] = (given.cursor ?? '').split('.').map(Number)
  if (updatedAt !== undefined && key !== undefined && Number.isSafeInteger(updatedAt + key)) {
    conditions.push('(updated_at, key) < (?, ?)')
    parameters.push(updatedAt, key)
  }
  const keys = ctx.store.all<{ key: number }>(
    `SELECT key FROM interactions WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, key DESC LIMIT ?`,
    ...parameters,
    limit + 1,
  )
  const page = keys.slice(0, limit).map(row => ctx.threads.byKey(row.key))
  const last = page.at(-1)
  return {
    items: page.map(interaction => summaryView(ctx, interaction)),
    ...(keys.length > limit && last !== undefined ? { next_cursor: `${last.updatedAt}.${last.key}` } : {}),
  }
}

/** The list at once when it holds something unread, else after the next event or the time asked for. */
async function waitingList(
  ctx: Context,
  list: () => Listing,
  waitSeconds: number | undefined,
  signal: AbortSignal,
): Promise<Listing> {
  const first = list()
  if (!waitSeconds || first.items.some(item => item.unread > 0)) return first
  await ctx.events.next(
    event => event.type === 'inbox' || event.type === 'message',
    waitSeconds * 1000,
    signal,
  )
  return list()
}

async function waitFor(
  ctx: Context,
  id: string,
  seconds: number,
  signal: AbortSignal,
  reached: (interaction: Interaction) => boolean,
): Promise<void> {
  const until = ctx.now() + seconds * 1000
  for (;;) {
    const interaction = ctx.threads.findById(id)
    const left = until - ctx.now()
    if (interaction === undefined || reached(interaction) || left <= 0 || signal.aborted) return
    await ctx.events.next(event => event.data['interaction_id'] === id, left, signal)
  }
}

export const receiptOf = (interaction: Interaction): Receipt | undefined =>
  interaction.receipt === null ? undefined : Receipt.decode(interaction.receipt)
