/** Signature checks on their own thread: verdicts in the order of the questions, bounded in number. */
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { publicKey, sign } from '../../protocol/crypto/engine.node.ts'
import { MESSAGE_BYTES_MAX } from './check-ring.ts'
import { refusalOf } from './refusal.ts'
import { Verifier } from './verifier.ts'

const seed = new Uint8Array(32).fill(5)
const key = publicKey(seed)
const messages = Array.from({ length: 100 }, (_, i) => Uint8Array.of(i))
const signatures = messages.map(message => sign(seed, message))
const isFalse = (i: number): boolean => i % 7 === 3

const open: Verifier[] = []
const make = (max: number, options = {}, onFailed?: (error: Error) => void): Verifier => {
  const verifier = new Verifier(max, options, onFailed)
  open.push(verifier)
  return verifier
}
afterEach(() => Promise.all(open.splice(0).map(verifier => verifier.close())))

/** Asks about each message, every seventh with the signature of another. */
const ask = (verifier: Verifier, from: number, count: number): Promise<boolean[]> =>
  Promise.all(
    messages
      .slice(from, from + count)
      .map((message, at) =>
        verifier.verify(
          key,
          message,
          signatures[isFalse(from + at) ? (from + at + 1) % 100 : from + at] as Uint8Array,
        ),
      ),
  )
const expected = (from: number, count: number): boolean[] =>
  Array.from({ length: count }, (_, at) => !isFalse(from + at))

test('each question gets its own verdict, whatever turn it was asked in', async () => {
  const verifier = make(1000)
  const turns = [17, 1, 8, 9, 40, 25]
  const answers: Promise<boolean[]>[] = []
  let from = 0
  for (const count of turns) {
    answers.push(ask(verifier, from, count))
    from += count
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(from).toBe(100)
  expect((await Promise.all(answers)).flat()).toEqual(expected(0, 100))
})

test('as many checks may be under way as it was told, and one more when one is done', async () => {
  const verifier = make(10)
  const first = ask(verifier, 0, 10)
  const over = await verifier.verify(key, messages[0] as Uint8Array, signatures[0] as Uint8Array).then(
    () => undefined,
    error => refusalOf(error)?.code,
  )
  expect(over).toBe('overloaded')
  expect(await first).toEqual(expected(0, 10))
  expect(await ask(verifier, 10, 10)).toEqual(expected(10, 10))
})

test('says which engine it has, and leaves the optional one out where it is told to', async () => {
  const { name, why } = await make(1).engine()
  expect(name === 'sodium-native').toBe(why === undefined)
  expect((await make(1, { standard: true }).engine()).name).toBe('node:crypto')
})

test('a thread that ends is told of, and the next check starts another', async () => {
  const started = vi.spyOn(Worker.prototype, 'unref')
  const failures: string[] = []
  const verifier = make(10, {}, error => failures.push(error.message))
  const underWay = ask(verifier, 0, 1)
  const [worker] = started.mock.contexts as Worker[]
  worker?.emit('error', new Error('too many open files'))
  await expect(underWay).rejects.toThrow('too many open files')
  expect(failures).toEqual(['too many open files'])
  expect(await ask(verifier, 0, 10)).toEqual(expected(0, 10))
  expect(started.mock.contexts).toHaveLength(2)
  await worker?.terminate()
  started.mockRestore()
})

test('checks that find no room on their way wait for it', async () => {
  const verifier = make(3000)
  const long = Array.from({ length: 40 }, (_, i) => new Uint8Array(20_000).fill(i))
  const asked = Array.from({ length: 2000 }, (_, i) => {
    const message = (i % 50 === 0 ? long[i / 50] : messages[i % 100]) as Uint8Array
    return verifier.verify(
      key,
      message,
      i % 50 === 0 ? sign(seed, message) : (signatures[i % 100] as Uint8Array),
    )
  })
  expect((await Promise.all(asked)).filter(verdict => !verdict)).toEqual([])
})

test('a key or signature of another length is not valid, and a message that no hub verifies is refused', async () => {
  const verifier = make(10)
  const [message, signature] = [messages[0] as Uint8Array, signatures[0] as Uint8Array]
  expect(await verifier.verify(key.subarray(1), message, signature)).toBe(false)
  expect(await verifier.verify(key, message, new Uint8Array(63))).toBe(false)
  await expect(verifier.verify(key, new Uint8Array(MESSAGE_BYTES_MAX + 1), signature)).rejects.toThrow(
    'a signed message of',
  )
  expect(await verifier.verify(key, message, signature)).toBe(true)
})
