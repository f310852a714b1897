/** The thread that checks signatures: it says which engine it has, then takes batches and answers in chunks. */
import { parentPort, workerData } from 'node:worker_threads'
import { type CheckBatch, unpackChecks } from './check-batch.ts'
import { chooseEngine, standardEngine } from './signature-engine.ts'
import type { FromVerifier, VerifierOptions } from './verifier.ts'

/** Verdicts go back while the rest of a batch is checked, so that neither thread waits for the other. */
const CHUNK = 8

const { standard } = workerData as VerifierOptions
const { name, why, verify } = standard === true ? standardEngine('as it was asked for') : chooseEngine()
post({ engine: { name, why } })

parentPort?.on('message', (batch: CheckBatch) => {
  const checks = unpackChecks(batch)
  for (let start = 0; start < checks.length; start += CHUNK) {
    const chunk = checks.slice(start, start + CHUNK)
    post({ verdicts: chunk.map(({ key, message, signature }) => verify(key, message, signature)) })
  }
  // handed over for good; waiting for a collection would pile them up
  batch.bytes.buffer.transfer(0)
})

function post(message: FromVerifier): void {
  parentPort?.postMessage(message)
}
