/** Every document that is printed from tables, by its path. */
import { limitsDocument } from '../hub/limits-config.ts'
import { a2aDocument } from './a2a-document.ts'
import { agentsDocument } from './agents-document.ts'
import { devicesDocument } from './devices-document.ts'
import { keysDocument } from './keys-document.ts'
import { manPage } from './man-page.ts'
import { mcpDocument } from './mcp-document.ts'
import { openapiDocument } from './openapi.ts'
import { operationsDocument } from './operations-document.ts'
import { operatorDocument } from './operator-document.ts'
import { architectureDocument } from './rooms-document.ts'
import { wire1Document } from './wire-1-document.ts'
import { wire3Document } from './wire-3-document.ts'

export function printedDocuments(): Record<string, string> {
  return {
    'docs/wire-1.md': wire1Document(),
    'docs/wire-3.md': wire3Document(),
    'docs/openapi-wire-3.json': `${JSON.stringify(openapiDocument(), null, 2)}\n`,
    'docs/operations.md': operationsDocument(),
    'docs/limits.md': limitsDocument(),
    'docs/host/operator-page.md': operatorDocument(),
    'docs/architecture.md': architectureDocument(),
    'docs/mcp.md': mcpDocument(),
    'docs/agents.md': agentsDocument(),
    'docs/a2a.md': a2aDocument(),
    'docs/devices.md': devicesDocument(),
    'docs/tui.md': keysDocument(),
    'man/svc.1': manPage(),
  }
}
