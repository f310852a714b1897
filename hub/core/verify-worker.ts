/** The thread that checks signatures: batches in, verdicts out. */
import { parentPort } from 'node:worker_threads'
import { verify } from '../../protocol/crypto/engine.node.ts'
import type { Checks, Verdicts } from './verifier.ts'

parentPort?.on('message', ({ ticket, checks }: Checks) => {
  const verdicts = checks.map(({ key, message, signature }) => verify(key, message, signature))
  parentPort?.postMessage({ ticket, verdicts } satisfies Verdicts)
})
