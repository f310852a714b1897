/** What a second thread adds on this machine: a bound for everything that is compared with one thread. */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { publicKey, sign, verify } from '../protocol/crypto/engine.node.ts'
import { atLeast, median, type Row } from './lib/hub-load.ts'

const ROUNDS = 5
const LOOP_MS = 400

/** Signature checks a second of this thread. */
function checksPerSecond(): number {
  const seed = new Uint8Array(32).fill(1)
  const key = publicKey(seed)
  const text = new Uint8Array(180)
  const signature = sign(seed, text)
  const started = performance.now()
  let count = 0
  for (; performance.now() - started < LOOP_MS; count++) verify(key, text, signature)
  return count / ((performance.now() - started) / 1000)
}

async function together(workers: readonly Worker[]): Promise<number> {
  const answers = workers.map(async worker => {
    worker.postMessage('go')
    const [rate] = (await once(worker, 'message')) as [number]
    return rate
  })
  return (await Promise.all(answers)).reduce((sum, rate) => sum + rate, 0)
}

export async function run(): Promise<Row[]> {
  const workers = [new Worker(new URL(import.meta.url)), new Worker(new URL(import.meta.url))] as const
  await together(workers)
  const ratios: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const one = await together(workers.slice(0, 1))
    ratios.push((await together(workers)) / one)
  }
  await Promise.all(workers.map(worker => worker.terminate()))
  return [atLeast('signature checks, two threads at once ÷ one thread', median(ratios), '×', 0)]
}

if (!isMainThread) parentPort?.on('message', () => parentPort?.postMessage(checksPerSecond()))
