#!/usr/bin/env node
import { start } from './launch.js'

await start(new URL('../dist/svc-hub.js', import.meta.url))
