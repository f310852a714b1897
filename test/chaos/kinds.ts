/** The kinds of work, each from its first word to what must come of it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Script } from './script.ts'
import { type NodeName, prices } from './world.ts'

export type Kind = { name: string; from: NodeName; to: NodeName; run(script: Script): Promise<void> }

const FILE_BYTES = 200_000
const REFUND = 4
const answerTo = ({ task }: Script) => `answer to task ${task.n}`

export async function talk(script: Script): Promise<void> {
  const { from, to, n } = script.task
  await script.delegate({ task: script.text })
  await script.arrived()
  const rounds = ['first', 'second', 'third'].map(word => `${word} ${n}`)
  for (const words of rounds) await script.say(to, `${words} back`)
  for (const words of rounds) await script.say(from, `${words} on`)
  await script.read(from, `${rounds[2]} back`)
  await script.read(to, `${rounds[2]} on`)
  await script.finish()
}

async function answeredByAgent(script: Script): Promise<void> {
  await script.delegate({ task: script.text })
  await script.read(script.task.from, answerTo(script))
  await script.finish()
}

export async function call(script: Script): Promise<void> {
  const content = Buffer.from(`content ${script.task.n}`).toString('base64')
  await script.delegate({ capability: 'cas.put', args: { content } })
  await script.receipts()
}

/** A run that a stop of the node cut short has failed and is given back; any other is paid for. */
export async function paidCall(script: Script): Promise<void> {
  await script.delegatePaid({ capability: 'weather.now', args: {} }, prices['weather.now'])
  await script.receipts()
  const hasFailed = (await script.view(script.task.from))?.receipt?.status === 'FAILED'
  if (hasFailed) await script.settled('receipt', 0, 'returned')
  else await script.settled('receipt', prices['weather.now'], 'taken')
}

export async function failedCall(script: Script): Promise<void> {
  await script.delegatePaid({ capability: 'weather.broken', args: {} }, prices['weather.broken'])
  await script.settled('receipt', 0, 'returned')
  await script.receipts()
}

/** A task in words up to the hold. */
async function held(script: Script): Promise<void> {
  await script.delegatePaid({ task: script.text }, prices.task)
  await script.arrived()
  await script.payment(script.task.to, 'held')
}

async function paidAnswer(script: Script): Promise<void> {
  await held(script)
  await script.say(script.task.to, answerTo(script))
  await script.read(script.task.from, answerTo(script))
  await script.settled('receipt', prices.task, 'taken')
}

export async function paidWords(script: Script): Promise<void> {
  await paidAnswer(script)
  await script.finish()
}

/** The end is proposed while the answer still waits for its capture. */
export async function paidAndEnded(script: Script): Promise<void> {
  await held(script)
  await script.say(script.task.to, answerTo(script))
  await script.press(script.task.to, '/end', { mode: 'either' })
  await script.read(script.task.from, answerTo(script))
  await script.press(script.task.from, '/end', { mode: 'either' })
  await script.settled('receipt', prices.task, 'taken')
  await script.receipts()
}

export async function refunded(script: Script): Promise<void> {
  await paidAnswer(script)
  script.task.moves = prices.task - REFUND
  await script.press(script.task.to, '/refund', { amount: REFUND })
  for (const who of [script.task.from, script.task.to])
    await script.until(`${who} knows of the refund`, async () => {
      return (await script.view(who))?.payment?.given_back === REFUND
    })
  await script.finish()
}

export async function withdrawn(script: Script): Promise<void> {
  await held(script)
  await script.press(script.task.from, '/cancel', {})
  await script.settled('cancelled', 0, 'returned')
}

export async function declined(script: Script): Promise<void> {
  await held(script)
  await script.press(script.task.to, '/decline', { reason: 'no time' })
  await script.settled('declined', 0, 'returned')
}

export async function withFile(script: Script): Promise<void> {
  const path = join(script.world.folder, `file-${script.task.n}.bin`)
  writeFileSync(path, Buffer.alloc(FILE_BYTES, script.task.n % 251))
  await script.delegate({ task: script.text, attach: [path] })
  await script.arrived()
  await script.say(script.task.to, answerTo(script))
  await script.read(script.task.from, answerTo(script))
  await script.finish()
}

async function rated(script: Script): Promise<void> {
  await answeredByAgent(script)
  await script.press(script.task.from, '/review', { rating: 1 + (script.task.n % 5) })
  await script.until('the hub has the rating, or the node says when it tries again', async () => {
    const view = await script.view(script.task.from)
    const { review } = (view ?? {}) as { review?: { uploaded: boolean; next_try_at?: number } }
    return review?.uploaded === true || review?.next_try_at !== undefined
  })
}

export const kinds: readonly Kind[] = [
  { name: 'words', from: 'carol', to: 'alice', run: talk },
  { name: 'words back', from: 'bob', to: 'alice', run: talk },
  { name: 'agent', from: 'alice', to: 'bob', run: answeredByAgent },
  { name: 'call', from: 'carol', to: 'bob', run: call },
  { name: 'paid call', from: 'alice', to: 'bob', run: paidCall },
  { name: 'failed call', from: 'alice', to: 'bob', run: failedCall },
  { name: 'paid call', from: 'carol', to: 'bob', run: paidCall },
  { name: 'paid words', from: 'alice', to: 'carol', run: paidWords },
  { name: 'paid and ended', from: 'bob', to: 'carol', run: paidAndEnded },
  { name: 'refund', from: 'alice', to: 'carol', run: refunded },
  { name: 'withdrawn', from: 'alice', to: 'carol', run: withdrawn },
  { name: 'declined', from: 'bob', to: 'carol', run: declined },
  { name: 'file', from: 'carol', to: 'alice', run: withFile },
  { name: 'rated', from: 'carol', to: 'bob', run: rated },
]
