/** What has an end outside of messages and payments: files, ratings, what clients of A2A are told; and what waits for whom. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Answers } from '../../daemon/a2a/answers.ts'
import { TaskViews } from '../../daemon/a2a/views.ts'
import { type A2aPushRow, a2aEventsAfter, a2aTaskAt } from '../../daemon/store/a2a.ts'
import { isArchived } from '../../daemon/store/interactions.ts'
import type { PaymentRow } from '../../daemon/store/payments.ts'
import { quoteOf } from '../../daemon/store/quotes.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { Review } from '../../protocol/proof/receipt.ts'
import type { Side } from './side.ts'
import type { MatrixWorld } from './world.ts'

const MINUTE_MS = 60_000

/** Every file that a message names is there, with the bytes that its name is made of. */
export function faultsOfFiles({ ctx, name }: Side): string[] {
  const cids = ctx.store.all<{ cid: string }>('SELECT DISTINCT cid FROM message_attachments')
  return cids.flatMap(({ cid }) => {
    const path = join(ctx.attachments.folder, cid)
    if (!existsSync(path)) return [`${name} has a message with a file that is not there: ${cid}`]
    return cidText(contentId(readFileSync(path))) === cid ? [] : [`${name} has other bytes under ${cid}`]
  })
}

/** A rating that counts as uploaded has reached the hub. */
export function faultsOfRatings(world: MatrixWorld): string[] {
  return world.sides.flatMap(({ ctx, name, aid }) => {
    const ratings = ctx.store.all<{ state: string; review: Uint8Array }>('SELECT state, review FROM reviews')
    const taken = world.posts.flatMap(({ ratings }) => ratings)
    const rated = world.posts.flatMap(({ rated }) => rated)
    const has = (review: Uint8Array) =>
      taken.some(one => equal(one, review)) ||
      rated.some(one => equal(one, Review.decode(review).receiptDigest))
    return ratings.flatMap(({ state, review }) =>
      state === 'uploaded' && !has(review) ? [`${name} (${aid}) calls uploaded what the hub has not`] : [],
    )
  })
}

const pushesOf = ({ ctx }: Side): A2aPushRow[] => ctx.store.rows('SELECT * FROM a2a_pushes')

/** What counts as told was taken by who wanted to be told, in its order. */
export function faultsOfPushes(world: MatrixWorld): string[] {
  const told = world.outside?.told ?? []
  return world.sides.flatMap(side =>
    pushesOf(side).flatMap(({ task, told: upTo }) => {
      const row = a2aTaskAt(side.ctx.store, task)
      const { store, threads, attachments } = side.ctx
      const views = new TaskViews(store, threads, new Answers(threads, attachments))
      const events = a2aEventsAfter(side.ctx.store, task, world.pushesFrom)
      const places = events
        .filter(({ n }) => n <= upTo)
        .map(event => told.indexOf(JSON.stringify(views.event(row, event))))
      if (places.includes(-1)) return [`${side.name} calls an event told that nobody took`]
      return places.some((place, n) => n > 0 && place < (places[n - 1] as number))
        ? [`${side.name} told events out of order`]
        : []
    }),
  )
}

/** Whatever waits for somebody else says for what, and when it is tried again. */
export function waitsWithoutWord({ ctx, name, isAway }: Side): string[] {
  if (isAway || ctx.hub.oldCopy !== undefined || ctx.hub.home === undefined) return []
  const latest = ctx.now() + 4 * 24 * 60 * MINUTE_MS
  const payments = ctx.store.rows<PaymentRow>('SELECT * FROM payments')
  const reviews = ctx.store.all<{ reason: string | null; next_at: number }>(
    "SELECT reason, next_at FROM reviews WHERE state = 'kept'",
  )
  return [
    ...payments.flatMap(row => {
      const isAsked = row.side === 'payee' && (row.state === 'ending' || row.state === 'authorized')
      const isMute = isAsked && row.tries > 0 && row.problem === null
      if (isMute) return [`${name}: a payment is ${row.state} after ${row.tries} tries, and does not say why`]
      return row.nextAt > latest ? [`${name}: a payment that is ${row.state} waits for ever`] : []
    }),
    ...reviews.flatMap(({ reason, next_at }) =>
      (reason === null && next_at < ctx.now() - 2 * MINUTE_MS) || next_at > latest
        ? [`${name}: a rating waits and does not say for what`]
        : [],
    ),
    ...pushesOf({ ctx } as Side).flatMap(({ nextAt }) =>
      nextAt > latest ? [`${name}: a push waits for ever`] : [],
    ),
  ]
}

/** What may not wait any more after a month. */
export function stuckOutcomes(side: Side): string[] {
  const { ctx, name } = side
  const kept = ctx.store.all("SELECT 1 FROM reviews WHERE state = 'kept'")
  const pushes = pushesOf(side).filter(({ task, told }) => a2aTaskAt(ctx.store, task).events > told)
  return [
    ...kept.map(() => `${name}: a rating is kept for ever`),
    ...pushes.map(() => `${name}: a push is untold for ever`),
  ]
}

/** How many messages of the other side a task has. */
export const heardIn = ({ ctx }: Side, id: string): number => {
  const task = ctx.threads.findById(id)
  return task === undefined ? 0 : ctx.threads.messages(task.key).filter(one => one.direction === 'in').length
}

/** What a person put away comes back with whatever is new in it, or wants a yes. */
export function faultsOfArchive(world: MatrixWorld): string[] {
  return [...world.archived].flatMap(([side, { id, heard }]) => {
    const task = side.ctx.threads.findById(id)
    if (task === undefined || !isArchived(task)) return []
    const isNew = heardIn(side, id) > heard
    const wantsYes =
      (task.side === 'received' && task.state === 'pending') ||
      quoteOf(side.ctx.store, task.key)?.state === 'open'
    return isNew || wantsYes ? [`${side.name} keeps ${task.preview} out of sight: ${task.state}`] : []
  })
}
