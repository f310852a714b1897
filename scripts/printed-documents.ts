/** Every document that is printed from tables, by its name under docs/. */
import { limitsDocument } from '../hub/limits-config.ts'
import { openapiDocument } from './openapi.ts'
import { operationsDocument } from './operations-document.ts'
import { architectureDocument } from './rooms-document.ts'
import { wire3Document } from './wire-3-document.ts'

export function printedDocuments(): Record<string, string> {
  return {
    'wire-3.md': wire3Document(),
    'openapi-wire-3.json': `${JSON.stringify(openapiDocument(), null, 2)}\n`,
    'operations.md': operationsDocument(),
    'limits.md': limitsDocument(),
    'architecture.md': architectureDocument(),
  }
}
