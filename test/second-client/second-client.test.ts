/** A second implementation, in Python and from the documents alone, works with a real hub and a real node. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { type Lab, never, openLab, stateOf, texts, thread, until } from '../two-nodes/world.ts'
import { python } from './python.ts'

type Described = {
  interaction_id: string
  texts: string[]
  proposed_end: boolean
  receipt: string | null
  result_cid: string | null
  counter_signed: boolean
}

/** The Python program; one order at a time, one answer each. */
class SecondClient {
  #child: ChildProcess
  #lines: AsyncIterator<string>

  constructor() {
    const folder = import.meta.dirname
    this.#child = spawn(python as string, ['-B', 'main.py'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]()
  }

  async order<T>(order: Record<string, unknown>): Promise<T> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`)
    const { value } = await this.#lines.next()
    const answer = JSON.parse(value as string) as T & { error?: string }
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }

  /** Collects mail until one interaction looks as wanted. */
  async until(id: string | undefined, holds: (found: Described) => boolean): Promise<Described> {
    for (let i = 0; i < 60; i++) {
      const { interactions } = await this.order<{ interactions: Described[] }>({ do: 'poll', wait_s: 1 })
      const found = interactions.find(each => (id === undefined || each.interaction_id === id) && holds(each))
      if (found !== undefined) return found
    }
    throw new Error('the mail did not come')
  }

  close(): void {
    this.#child.kill()
  }
}

describe.skipIf(python === undefined)('a second client (needs python3-cryptography)', () => {
  let lab: Lab
  let bob: Node
  let client: SecondClient
  let aid: string

  beforeAll(async () => {
    lab = await openLab()
    bob = await lab.member('bob')
    client = new SecondClient()
    aid = (await client.order<{ aid: string }>({ do: 'start', hub: lab.hub.url, name: 'python' })).aid
    await lab.hub.running.hub.context.store.admit(aid, true)
    await bob.handlers.contactAdd({ aid, petname: 'python' }, never)
  })
  afterAll(async () => {
    client.close()
    await lab.close()
  })

  test('registers at a hub', async () => {
    expect(await client.order({ do: 'register' })).toMatchObject({
      status: 'registered',
      keys_status: 'stored',
    })
  })

  test('delegates a task, reads the answer and counter-signs the receipt', async () => {
    const { interaction_id: id } = await client.order<Described>({
      do: 'delegate',
      to: bob.aid,
      task: 'Say hello to a second implementation',
    })
    await until('the task arrives', async () => (await stateOf(bob, id).catch(() => '')) === 'open')
    expect(await texts(bob, id)).toContain('Say hello to a second implementation')
    await bob.handlers.message({ interaction_id: id, text: 'Hello, Python' }, never)
    expect((await client.until(id, found => found.texts.length > 0)).texts).toEqual(['Hello, Python'])
    expect(await client.order({ do: 'confirmation', id, number: 1 })).toEqual({ code: 0 })

    await client.order({ do: 'end', id })
    await until('the proposal arrives', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    const ended = await client.until(id, found => found.counter_signed)
    await until('the counter-signature arrives', async () => {
      return (await bob.handlers.verify({ interaction_id: id }, never)).counter_signed
    })
    const held = await thread(bob, id)
    expect(ended.result_cid).toBe(held.receipt?.result_cid)
    expect(held.turns.every(turn => !turn.mine || turn.delivery?.state === 'delivered')).toBe(true)
  })

  test('answers a task as the provider; the node counter-signs its receipt', async () => {
    const { interaction_id: id } = await bob.handlers.delegate({ to: aid, task: 'Grüß dich 日本' }, never)
    expect((await client.until(id, () => true)).texts).toEqual(['Grüß dich 日本'])
    await client.order({ do: 'say', id, text: 'Zurück gegrüßt' })
    await until('the answer arrives', async () => (await texts(bob, id)).includes('Zurück gegrüßt'))
    await bob.handlers.end({ interaction_id: id }, never)
    await client.until(id, found => found.proposed_end)
    await client.order({ do: 'accept_end', id })
    const ended = await client.until(id, found => found.counter_signed)
    const { receipt } = await thread(bob, id)
    expect(receipt).toMatchObject({ verified: true, result_cid: ended.result_cid })
    const document = JSON.stringify({ attachments: [], text: 'Zurück gegrüßt' })
    expect(ended.result_cid).toBe(cidText(contentId(new TextEncoder().encode(document))))
  })
})
