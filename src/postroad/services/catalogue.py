"""The built-in services by the name that a profile sets in ``hosted``."""

from __future__ import annotations

from postroad.core.model.asset import Hosting
from postroad.services.crossreference.service import CrossReferenceService
from postroad.services.exchange.service import ExchangeService
from postroad.services.filter import FilterService
from postroad.services.lookup import LookupService
from postroad.services.model import ModelService
from postroad.services.provisioning import ProvisioningService
from postroad.services.service import HostedService
from postroad.services.splitter.service import SplitterService
from postroad.services.validation import ValidationService
from postroad.services.xslt import XsltService

CATALOGUE: dict[Hosting, HostedService] = {
    Hosting.XSLT: XsltService(),
    Hosting.LOOKUP: LookupService(),
    Hosting.CROSSREFERENCE: CrossReferenceService(),
    Hosting.FILTER: FilterService(),
    Hosting.VALIDATE: ValidationService(),
    Hosting.EXCHANGE: ExchangeService(),
    Hosting.MODEL: ModelService(),
    Hosting.PROVISIONING: ProvisioningService(),
    Hosting.SPLITTER: SplitterService(),
}
