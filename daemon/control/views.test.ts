/** A conversation as it is read: a page at a time, nothing of it left out. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { taskReading } from './parts.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string
const said = ['the task', 'aa😀-and the rest of these words', 'b', '🦊🦊🦊🦊', 'c'.repeat(40)]
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  ;({ id } = alice.delegate(bob, said[0]))
  await world.settle()
  for (const words of said.slice(1)) {
    alice.say(id, words)
    await world.settle()
  }
})
afterEach(() => world[Symbol.asyncDispose]())

const page = (fromTurn: number, maxChars: number, fromChar?: number) =>
  taskReading(bob.ctx).views.thread(bob.thread(id), { fromTurn, maxChars, fromChar })

test('words behind others that have not come yet say so until these are here', async () => {
  const gaps = () => page(6, 100).turns.map(({ text, missing_before }) => [text, missing_before])
  for (const words of ['one', 'two', 'three', 'four']) alice.say(id, words)
  await alice.send()
  const [one, two, three, four] = world.post.carried.splice(0)
  const come = async (...mail: (typeof one)[]) => {
    world.post.carried.push(...mail.flatMap(each => each ?? []))
    await bob.receive()
  }
  await come(three)
  expect(gaps()).toEqual([['three', 2]])
  await come(four, one)
  expect(gaps()).toEqual([
    ['one', undefined],
    ['three', 1],
    ['four', undefined],
  ])
  await come(two)
  expect(gaps().map(([text]) => text)).toEqual(['one', 'two', 'three', 'four'])
  expect(gaps().every(([, missing]) => missing === undefined)).toBe(true)
})

test('a page ends with the turn that it has no room for, and never goes on behind it', () => {
  const { turns, next_turn } = page(2, 3)
  expect(turns.map(({ n, text, next_char }) => [n, text, next_char])).toEqual([[2, 'aa', 2]])
  expect(next_turn).toBe(3)
})

test.each([1, 2, 3, 5, 7, 10, 33, 1000])('read %i characters at a time, every word comes once', maxChars => {
  const read: string[] = []
  let place: { turn: number; char: number | undefined } | undefined = { turn: 1, char: undefined }
  for (let pages = 0; place !== undefined && pages < 500; pages++) {
    const { turns, next_turn } = page(place.turn, maxChars, place.char)
    for (const { n, text } of turns) read[n - 1] = (read[n - 1] ?? '') + text
    const last = turns.at(-1)
    place =
      last?.next_char !== undefined
        ? { turn: last.n, char: last.next_char }
        : next_turn === undefined
          ? undefined
          : { turn: next_turn, char: undefined }
  }
  expect(read).toEqual(said)
})
