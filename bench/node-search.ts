/** Searching a history of 100,000 messages, by words that stand in all of them, in some and in none. */
import { atMost, type Row } from './lib/hub-load.ts'
import { benchWorld, operate, percentile, running } from './lib/node-world.ts'
import { fillStore } from './lib/stored-tasks.ts'

const STORED = 100_000
const ROUNDS = 40
/** `task` and `please` stand in every message, a number in one; `p*` begins 46,000 words beside `please`. */
const WORDS = [
  'task',
  'please',
  'task please',
  'task number 77777',
  '4321',
  'nowhere',
  'please 9*',
  'p*',
  't* a*',
]

export async function run(): Promise<Row[]> {
  await using world = benchWorld()
  const up = await world.startNode('alice')
  await world.svc('alice', 'stop')
  fillStore(world.dir('alice'), String(up['aid']), STORED)
  const alice = running(world, 'alice', await world.startNode('alice'))
  // the first search brings the index up to date
  await operate(alice, '/search', { words: 'task' })
  const times = async (ask: (words: string) => Promise<unknown>): Promise<number[]> => {
    const taken: number[] = []
    for (let n = 0; n < ROUNDS; n++)
      for (const words of WORDS) {
        const started = performance.now()
        await ask(words)
        taken.push(performance.now() - started)
      }
    return taken
  }
  const searched = await times(words => operate(alice, '/search', { words }))
  const listed = await times(words => operate(alice, '/inbox', { q: words }))
  return [
    atMost(`search in ${STORED} messages, any word, p95`, percentile(searched, 0.95), 'ms', 50),
    atMost(`list by words in ${STORED} messages, any word, p95`, percentile(listed, 0.95), 'ms', 50),
  ]
}
