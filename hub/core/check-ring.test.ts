/** Signature checks on their way to another thread and back. */
import { expect, test } from 'vitest'
import { random } from '../testing/hub.ts'
import { Answering, Asking, type Check, isWhole, MESSAGE_BYTES_MAX, shareRing } from './check-ring.ts'

const check = (length: number): Check => ({ key: random(32), message: random(length), signature: random(64) })
const copied = ({ key, message, signature }: Check): Check => ({
  key: key.slice(),
  message: message.slice(),
  signature: signature.slice(),
})
const open = (first = 0) => {
  const shared = shareRing(first)
  return { asking: new Asking(shared), answering: new Answering(shared) }
}

/** Puts checks as long as there is room, answers some, and goes on: what came out, and the verdicts. */
function passThrough(lengths: number[], first = 0): { sent: Check[]; seen: Check[]; verdicts: boolean[] } {
  const { asking, answering } = open(first)
  const sent = lengths.map(check)
  const seen: Check[] = []
  const verdicts: boolean[] = []
  for (let next = 0; verdicts.length < sent.length; ) {
    while (next < sent.length && asking.put(sent[next] as Check)) next += 1
    while (seen.length < next) {
      answering.answer(one => {
        seen.push(copied(one))
        return one.message.length % 2 === 0
      })
    }
    verdicts.push(...asking.take())
  }
  return { sent, seen, verdicts }
}

const even = (lengths: number[]): boolean[] => lengths.map(length => length % 2 === 0)

test.each([
  [[0]],
  [[1, 2, 3, 4, 5]],
  [[180, 0, MESSAGE_BYTES_MAX, 1]],
  [[MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX]],
])('messages of %j bytes arrive as they were, each with its own verdict', lengths => {
  const { sent, seen, verdicts } = passThrough(lengths)
  expect(seen).toEqual(sent)
  expect(verdicts).toEqual(even(lengths))
})

test.each([0, -65_536, 2 ** 31 - 65_536])(
  'checks go round the ring many times, also where its counters run over (from %i)',
  first => {
    const lengths = Array.from({ length: 3000 }, (_, i) => (i * 7919) % (i % 10 === 0 ? 9001 : 301))
    const { sent, seen, verdicts } = passThrough(lengths, first)
    expect(seen).toEqual(sent)
    expect(verdicts).toEqual(even(lengths))
  },
)

test('a part goes without what lies around it', () => {
  const request = random(100_000)
  const { asking, answering } = open()
  const whole = {
    key: request.subarray(10, 42),
    message: request.subarray(50_000, 50_100),
    signature: request.subarray(99_000, 99_064),
  }
  asking.put(whole)
  answering.answer(seen => {
    expect(seen).toEqual(whole)
    return true
  })
})

test('what finds no room changes nothing, and goes in once verdicts were taken', () => {
  const { asking, answering } = open()
  const large = check(MESSAGE_BYTES_MAX)
  const small = check(10)
  expect([asking.put(large), asking.put(large), asking.put(large), asking.put(small)]).toEqual([
    true,
    true,
    false,
    false,
  ])
  const seen: number[] = []
  const answer = () =>
    answering.answer(one => {
      seen.push(one.message.length)
      return true
    })
  answer()
  expect(asking.put(small)).toBe(true)
  answer()
  answer()
  expect(seen).toEqual([MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, 10])
  expect(asking.take()).toEqual([true, true, true])
})

test('no more checks are under way than there are places for verdicts', () => {
  const { asking, answering } = open()
  const one = check(0)
  let put = 0
  while (asking.put(one)) put += 1
  expect(put).toBe(1024)
  for (let i = 0; i < put; i++) answering.answer(() => i !== 1023)
  expect(asking.put(one)).toBe(false)
  expect(asking.take().indexOf(false)).toBe(1023)
  expect(asking.put(one)).toBe(true)
})

test('the asking side is told when nothing is left to judge, once until it has looked', () => {
  const { asking, answering } = open()
  const answer = () => answering.answer(() => true)
  for (let i = 0; i < 3; i++) asking.put(check(1))
  expect([answer(), answer(), answer()]).toEqual([false, false, true])
  asking.put(check(1))
  expect(answer()).toBe(false)
  expect(asking.take()).toEqual([true, true, true, true])
  expect(asking.take()).toEqual([])
  asking.put(check(1))
  expect(answer()).toBe(true)
})

test('while checks are waiting, the asking side is told of each sixteenth verdict', () => {
  const { asking, answering } = open()
  for (let i = 0; i < 40; i++) asking.put(check(1))
  const told = Array.from({ length: 36 }, () => {
    const tell = answering.answer(() => true)
    if (tell) asking.take()
    return tell
  })
  expect(told.flatMap((tell, at) => (tell ? [at] : []))).toEqual([15, 31])
})

test('a check is whole with a key of 32 and a signature of 64 bytes', () => {
  expect(isWhole(check(0))).toBe(true)
  expect(isWhole({ ...check(0), key: random(31) })).toBe(false)
  expect(isWhole({ ...check(0), signature: random(65) })).toBe(false)
})
