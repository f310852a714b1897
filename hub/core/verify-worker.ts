/** The thread that checks signatures: it says which engine it has, then judges one check after the other. */
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { installedEngine, standardEngine } from '../../protocol/crypto/signature-engine.ts'
import { Answering } from './check-ring.ts'
import type { FromVerifier, VerifierStart } from './verifier.ts'

const { standard, ring } = workerData as VerifierStart
const { name, why, verify } =
  standard === true ? standardEngine('as it was asked for') : installedEngine(createRequire(import.meta.url))
post({ name, why })

const answering = new Answering(ring)
for (;;) {
  const tell = answering.answer(({ key, message, signature }) => verify(key, message, signature))
  if (tell) post('judged')
}

function post(message: FromVerifier): void {
  parentPort?.postMessage(message)
}
