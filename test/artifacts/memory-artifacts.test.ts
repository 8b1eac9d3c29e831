import { memoryArtifacts } from '../../src/artifacts';
import { describeStore } from './store-contract';

const store = memoryArtifacts();
describeStore('memory', () => store);
